// Senders that wait for a reply, as edges of a graph: an edge that would close a circle is refused, naming it.

import { setMaxListeners } from 'node:events'
import type { Message } from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import { isPair } from '../core/conversations.ts'
import type { MessageHead } from '../core/view.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Hub } from './hub.ts'
import type { Sessions } from './sessions.ts'

/** An awaited agent without any session for this long will not answer. */
export const goneMs = 60_000

const agentAddress = /^[^#*][^*]*$/

export interface Wait {
  by: string
  /** The one agent that can end it, where the message goes to one agent; of another workspace as `frontend:Designer`. */
  on?: string
  since: number
}

/** The message whose answer is awaited, and from where on to look for it. */
export interface Awaited {
  id: string
  conversation: string
  afterSeq: number
  afterN: number
  /** Named by the sender; the place of a reply in an older thread does not count as one. */
  thread?: string
}

export class Waits {
  readonly #store: Store
  readonly #hub: Hub
  readonly #sessions: Sessions
  readonly #clock: Clock
  readonly #open = new Set<Wait>()
  readonly #stop = new AbortController()

  constructor(store: Store, hub: Hub, sessions: Sessions, clock: Clock) {
    this.#store = store
    this.#hub = hub
    this.#sessions = sessions
    this.#clock = clock
    // Every wait listens to it: many are no leak, and Node would warn of the eleventh.
    setMaxListeners(0, this.#stop.signal)
  }

  /** Draws the edge before the message is sent, so that of two agents who ask each other at once the second is refused. */
  open(by: string, to: string | string[]): Wait {
    const on = typeof to === 'string' && agentAddress.test(to) ? to : undefined
    const circle = on === undefined ? undefined : this.#path(on, by)
    if (circle) throw new RefusalError('wait.cycle', { to: on, circle: [[by, ...circle].join(' → ')] })
    const wait: Wait = { by, on, since: this.#clock.now() }
    this.#open.add(wait)
    return wait
  }

  close(wait: Wait): void {
    this.#open.delete(wait)
  }

  /** The daemon stops: every wait ends, and is taken up again by whoever asks its successor. */
  stopAll(): void {
    this.#stop.abort()
  }

  /** Aborted when the daemon stops. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Whom the agent waits for, since when. */
  of(agent: string): Wait | undefined {
    for (const wait of this.#open) if (wait.by === agent && wait.on !== undefined) return wait
    return undefined
  }

  /** Resolves with the reply; rejects on the deadline, when the awaited agent is gone, or when the caller is. */
  reply(wait: Wait, awaited: Awaited, timeoutMs: number, ended: AbortSignal): Promise<Message> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        stopListening()
        deadline.cancel()
        gone.cancel()
        ended.removeEventListener('abort', abandon)
        this.#stop.signal.removeEventListener('abort', stop)
        settle()
      }
      const look = () => {
        const reply = this.#find(wait, awaited)
        if (reply) finish(() => resolve(reply))
      }
      const fail = (code: 'wait.timeout' | 'wait.gone' | 'wait.cancelled' | 'daemon.stopping', details = {}) =>
        finish(() =>
          reject(new RefusalError(code, { to: wait.on ?? awaited.conversation, message: awaited.id, ...details })),
        )
      const abandon = () => fail('wait.cancelled')
      const stop = () => fail('daemon.stopping')
      const stopListening = this.#hub.listen((entries) => {
        if (entries.some(({ facts }) => facts.some(({ type }) => type === 'message.created'))) look()
      })
      const deadline = this.#clock.after(timeoutMs, () => fail('wait.timeout', { ms: timeoutMs }))
      const checkGone = () => {
        const awayMs = this.#awayMs(wait)
        if (awayMs >= goneMs) return fail('wait.gone', { reason: `no session for ${goneMs / 1000} s` })
        gone = this.#clock.after(goneMs - awayMs, checkGone)
      }
      let gone = this.#clock.after(goneMs, checkGone)
      ended.addEventListener('abort', abandon)
      this.#stop.signal.addEventListener('abort', stop)
      // Given up while the message was being written: nobody would tell us so again.
      if (ended.aborted) abandon()
      else if (this.#stop.signal.aborted) stop()
      // It may have come already: in the same commit, or before the daemon was restarted.
      else look()
    })
  }

  #awayMs({ on, since }: Wait): number {
    if (on === undefined || !this.#store.view.agent(on)) return 0
    return this.#clock.now() - Math.max(this.#sessions.lastSeenAt(on) ?? 0, since)
  }

  /** A reply to it, a message of its thread, or, for one agent and no thread, that agent's next direct message. */
  #find({ by, on }: Wait, { id, conversation, afterSeq, afterN, thread }: Awaited): Message | undefined {
    const { queries, view } = this.#store
    const found = queries.threadSince(id, afterSeq, by)
    const sent = view.message(id)
    if (thread !== undefined) found.push(...queries.threadSince(thread, afterSeq, by))
    else if (sent?.thread)
      found.push(...queries.threadSince(sent.thread, afterSeq, by).filter(({ replyTo }) => replyTo === id))
    if (thread === undefined && on !== undefined && isPair(conversation)) {
      found.push(...queries.conversationSince(conversation, afterN, by))
    }
    const replies = found.filter((message) => view.isRecipient(by, view.message(message.id) as MessageHead))
    return replies.sort((a, b) => a.seq - b.seq)[0]
  }

  /** From `from` along the edges to `target`, both named; undefined where no such path is. */
  #path(from: string, target: string, seen = new Set<string>()): string[] | undefined {
    if (from === target) return [target]
    if (seen.has(from)) return undefined
    seen.add(from)
    for (const wait of this.#open) {
      if (wait.by !== from || wait.on === undefined) continue
      const rest = this.#path(wait.on, target, seen)
      if (rest) return [from, ...rest]
    }
    return undefined
  }
}
