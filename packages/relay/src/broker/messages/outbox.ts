// The outbox keeps messages on this machine while the shared workspace cannot be reached, if their senders asked for that. Later each message is sent once, in
// order. If a message cannot be sent even then, its sender is told.

import { oneLine } from '@agent-relay/sdk/internal/clean'
import { limits, type OutputOf, type ParsedInputOf, type Refusal, type RefusalCode } from '@agent-relay/sdk/protocol'
import { RefusalError, refusalTextWithoutFix } from '../../core/refusal-error.ts'
import { seesAll } from '../../core/sight.ts'
import type { Alarm } from '../../machine/clock.ts'
import type { QueuedSend } from '../../store/outbox-rows.ts'
import { type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import { tellAgent } from '../commands.ts'

/** Interval of attempts to reach the shared workspace again. */
const outboxRetryMs = 1_000
/** Maximum time that a message waits in the outbox; older messages are no longer sent. */
const waitMsMax = 24 * 60 * 60_000

/** Codes of refusals that concern the connection to the shared workspace, not the message: the same send may be accepted later. */
const passingCodes: readonly RefusalCode[] = [
  ...(['cluster.unreachable', 'cluster.unknown', 'cluster.unusable', 'cluster.diverged'] as const),
  ...(['cluster.newer', 'cluster.older', 'cluster.forged'] as const),
]

type QueuedInput = ParsedInputOf<'message.send'> & { to: string | string[] }

export class Outbox {
  readonly #parts: WorkspaceParts
  #alarm: Alarm | undefined
  /** The number of the outbox row that is being sent. */
  #sending: number | undefined
  #isClosed = false

  constructor(parts: WorkspaceParts) {
    this.#parts = parts
    if (this.count > 0) this.#scheduleSend()
  }

  get #rows() {
    return this.#parts.store.outbox
  }

  /** The number of messages that wait in the outbox. */
  get count(): number {
    return this.#rows.countQueued().messages
  }

  /** Whether a message that was refused for this reason may wait in the outbox. */
  mayWait({ code }: Refusal): boolean {
    return passingCodes.includes(code)
  }

  /** Whether messages of this sender wait in the outbox. The sender's next messages must not overtake them. */
  hasWaiting(by: string): boolean {
    return this.#rows.countQueued(by).messages > 0
  }

  /** Puts a message into the outbox: when this returns, the message is on the disk of this machine. */
  put(asking: CallContext, { wait: _, ...input }: QueuedInput): OutputOf<'message.queue'>['queued'] {
    const { store, clock, ids } = this.#parts
    const { by } = asking
    const { cause, digest } = causeOf(asking)
    const row = { id: ids('q'), at: clock.now(), by, cause, digest: digest?.(), input: JSON.stringify(input) }
    const before = this.#rows.findByCall(by, cause)
    if (before && before.digest !== row.digest)
      throw new RefusalError('call.reused', { id: cause, operation: 'message.queue' })
    if (!before) this.#assertRoom(by, Buffer.byteLength(row.input))
    const { n, id, at } = store.transact(() => this.#rows.put(row))
    this.#scheduleSend()
    return { id, since: new Date(at).toISOString(), ahead: this.#rows.countBefore(n) }
  }

  /** Refuses a message for which the outbox has no room. Each sender has a limit of its own, so that one sender never takes all of the room from the others. */
  #assertRoom(by: string, bytes: number): void {
    const rooms = [
      {
        of: 'yours',
        has: this.#rows.countQueued(by),
        messages: limits.outboxOfSenderMax,
        most: limits.outboxBytesOfSenderMax,
      },
      { of: 'this workspace', has: this.#rows.countQueued(), messages: limits.outboxMax, most: limits.outboxBytesMax },
    ]
    for (const { of, has, messages, most } of rooms) {
      if (has.messages < messages && has.bytes + bytes <= most) continue
      throw new RefusalError('outbox.full', { of, messages, size: `${most / 2 ** 20} MiB` })
    }
  }

  list({ session, by }: CallContext): OutputOf<'outbox.list'> {
    const heads = this.#rows.list(limits.lastWordsCharsMax, seesAll(session) ? undefined : by)
    return { queued: heads.map(({ at, by: from, ...head }) => ({ ...head, since: new Date(at).toISOString(), from })) }
  }

  drop({ session, by }: CallContext, { id }: ParsedInputOf<'outbox.drop'>): OutputOf<'outbox.drop'> {
    const { store } = this.#parts
    const row = this.#rows.byId(id)
    // A message that is being sent at this moment cannot be taken out of the outbox.
    if (!row || row.n === this.#sending || !(row.by === by || seesAll(session)))
      throw new RefusalError('outbox.unknown', { id })
    store.transact(() => this.#rows.drop(row.n))
    return queuedMessage(row)
  }

  close(): void {
    this.#isClosed = true
    this.#alarm?.cancel()
  }

  #scheduleSend(): void {
    if (this.#alarm || this.#isClosed) return
    this.#alarm = this.#parts.clock.after(outboxRetryMs, () => {
      this.#alarm = undefined
      // After a failure, such as a full disk, the messages are sent again later.
      void this.#send()
        .catch(() => {})
        .finally(() => this.#isClosed || this.count === 0 || this.#scheduleSend())
    })
  }

  async #send(): Promise<void> {
    const { engine } = this.#parts
    while (!this.#isClosed && this.#sending === undefined && engine.trouble === undefined) {
      const first = this.#rows.oldestAfter()
      if (!first) return
      this.#sending = first.n
      const isDone = await this.#sendQueued(first).finally(() => (this.#sending = undefined))
      if (!isDone || this.#isClosed) return
      this.#parts.store.transact(() => this.#rows.drop(first.n))
    }
  }

  /**
   * Sends a message of the outbox. Returns false if the message has to wait longer. If the daemon crashes before it removes the row, the message goes out again
   * under the same call id, and is stored only once.
   */
  async #sendQueued(row: QueuedSend): Promise<boolean> {
    const { engine, clock } = this.#parts
    const { by, cause, digest } = row
    const input = JSON.parse(row.input) as QueuedInput
    if (clock.now() - row.at > waitMsMax) return this.#reportUnsent(row, 'it has waited for more than a day.')
    const given = {
      rule: 'message.send',
      input,
      by,
      cause,
      ...(digest === undefined ? {} : { digest: () => digest }),
    } as const
    const reply = await engine.submit(given)
    if (!('refusal' in reply)) return true
    return this.mayWait(reply.refusal) || isClosing(reply.refusal)
      ? false
      : this.#reportUnsent(row, refusalTextWithoutFix(reply.refusal))
  }

  /** Tells the sender that its message was given up, because the sender was told before that it would be sent. */
  async #reportUnsent({ by, at, cause, input }: QueuedSend, why: string): Promise<boolean> {
    const { to } = JSON.parse(input) as QueuedInput
    const names = oneLine(typeof to === 'string' ? to : to.join(', '))
    const body = `Your message to ${names}, queued at ${new Date(at).toISOString()}, was not sent: ${why}`
    const reply = await tellAgent(this.#parts, by, body, `${cause} unsent`)
    return !('refusal' in reply) || !(this.mayWait(reply.refusal) || isClosing(reply.refusal))
  }
}

function isClosing({ code }: Refusal): boolean {
  return code === 'daemon.stopping' || code === 'fault'
}

function queuedMessage({ id, at, by, input }: QueuedSend) {
  const { to, body, kind } = JSON.parse(input) as QueuedInput
  return { id, since: new Date(at).toISOString(), from: by, to, body, ...(kind === undefined ? {} : { kind }) }
}
