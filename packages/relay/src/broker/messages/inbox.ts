// Takes messages from an agent's inbox and marks them as read. The rule in core/ picks and marks messages; this file adds the bodies and wakes a waiting take.
// If the rule would read more rows than a commit can wait for, this file finds the messages first, in steps and in turn with all other reads, and submits the
// command again with them.

import { type Fact, type InboxMessage, limits, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { includesReadMessages, markReadMax, pickMessages, type TakeInput, unreadInThread } from '../../core/inbox.ts'
import { type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import { acceptedReplyOrThrow } from '../commands.ts'
import type { CommandReply, Submission } from '../engine.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import type { ReplyWaits } from '../presence/reply-waits.ts'

type Input = ParsedInputOf<'inbox.take'>
type TakeAnswer = OutputOf<'inbox.take'>

const noMessages: TakeAnswer = { messages: [], more: 0 }

export class Inboxes {
  readonly #parts: WorkspaceParts
  readonly #waits: ReplyWaits
  /** The newest waiting call `inbox.take` of each agent. */
  readonly #waiting = new Map<string, AbortController>()

  constructor(parts: WorkspaceParts, waits: ReplyWaits) {
    this.#parts = parts
    this.#waits = waits
  }

  take(asking: CallContext, { wait, ...input }: Input): Promise<TakeAnswer> {
    return wait === undefined ? this.#take(asking, input, asking.abandoned) : this.#wait(asking, input, wait)
  }

  /** Whether a call `inbox.take` of the agent waits, which gets the next message at once. */
  isWaiting(agent: string): boolean {
    return this.#waiting.has(agent)
  }

  async #take(asking: CallContext, asked: Input, abandoned: AbortSignal, id = asking.id): Promise<TakeAnswer> {
    const { session, by } = asking
    if (asked.route === 'hook' && this.#parts.isBlocked(by)) return noMessages
    const { queries } = this.#parts.store
    // With `again` the model's session has just begun, and does not know the messages of earlier answers: forgets them, so that the next call does not mark
    // them as read.
    if (asked.route === 'hook' && asked.again) this.#parts.sessions.takeReceivedMessages(session)
    const input: TakeInput = session.standing.kind === 'model' ? { ...asked, route: asked.route ?? 'tool' } : asked
    const submission = { rule: 'inbox.take', input, by, ...causeOf({ ...asking, id }), session: session.id } as const
    const reply = acceptedReplyOrThrow(await submitInboxTake(this.#parts, submission, abandoned))
    const { messages: ids, more, shown = [] } = reply.outcome as { messages: string[]; more: number; shown?: string[] }
    const isHook = input.route === 'hook'
    const found: InboxMessage[] = reply.found
      ? queries.offeredMessages(reply.found, isHook ? undefined : (input.route ?? 'take'))
      : queries.inboxMessages(by, ids)
    // Leaves out a reply that a waiting call of the agent will get, so that the model is not shown it twice.
    const isWaiters = (message: InboxMessage) => this.#waits.isAwaited(by, message, isHook)
    const isForModel = (isHook || input.route === 'tool') && !includesReadMessages(input)
    const messages = isForModel ? found.filter((message) => !isWaiters(message)) : found
    // A hook may end before it could show the messages. They do not count as handed out until it reports by `inbox.offer` which it has shown.
    if (isHook) return { messages, more }
    const isHanded = ({ id, receipt }: InboxMessage) => receipt !== 'read' && !shown.includes(id)
    asking.handedMessages = messages.filter(isHanded).map(({ id }) => id)
    return { messages, more }
  }

  /**
   * Waits for a message. CLIs start one waiter per event and do not say when they give one up, so a new wait of an agent ends its earlier one without messages.
   */
  async #wait(asking: CallContext, input: Input, waitMs: number): Promise<TakeAnswer> {
    const { by, id, abandoned } = asking
    const { clock } = this.#parts
    this.#waiting.get(by)?.abort()
    const own = new AbortController()
    this.#waiting.set(by, own)
    const over = AbortSignal.any([own.signal, abandoned, this.#waits.stopped])
    const until = clock.steady() + waitMs
    try {
      for (let look = 0; !over.aborted && clock.steady() < until; look++) {
        const hint = watchForMessage(this.#parts, by, Math.min(limits.lookAgainMs, until - clock.steady()), over)
        const taken = await this.#take(asking, input, over, look === 0 ? id : `${id}/${look}`)
        if (taken.messages.length > 0) {
          hint.cancel()
          return taken
        }
        await hint.came
      }
      return noMessages
    } catch (error) {
      // The wait was given up while the inbox was being searched.
      if (over.aborted) return noMessages
      throw error
    } finally {
      if (this.#waiting.get(by) === own) this.#waiting.delete(by)
    }
  }
}

/** Returns the promise `came`, which resolves when a message may have come for the agent, after `ms`, or when nobody waits any more. */
function watchForMessage(
  { hub, sessions, store, clock }: WorkspaceParts,
  agent: string,
  ms: number,
  over: AbortSignal,
) {
  let cancel = () => {}
  const came = new Promise<void>((resolve) => {
    const done = () => {
      for (const stop of listening) stop()
      alarm.cancel()
      over.removeEventListener('abort', done)
      resolve()
    }
    const isForIt = (fact: Fact) =>
      fact.type === 'message.created'
        ? store.view.isMember(agent, fact.conversation)
        : (fact.type === 'delivery.released' || fact.type === 'approval.closed') && fact.agent === agent
    const listening = [
      hub.listen((entries) => entries.some(({ facts }) => facts.some(isForIt)) && done()),
      // When a session ends, the messages that were reserved for it can be taken by others.
      sessions.onChange((changed) => changed === agent && done()),
    ]
    const alarm = clock.after(ms, done)
    over.addEventListener('abort', done)
    cancel = done
  })
  return { came, cancel }
}

/** Takes messages from an inbox. Rejects once `abandoned`; no message is handed out then. */
export async function submitInboxTake(
  { store, engine, sessions, clock, reads }: Pick<WorkspaceParts, 'store' | 'engine' | 'sessions' | 'clock' | 'reads'>,
  submission: Submission<'inbox.take'>,
  abandoned: AbortSignal,
): Promise<CommandReply> {
  const { input, by } = submission
  let reply = await engine.submit(submission)
  while (isUnfinished(reply)) {
    const now = { input, by, at: clock.now(), world: sessions }
    const found = await reads.run(pickMessages(store.view, now), new ReadTimeBudget(), abandoned)
    reply = await engine.submit({ ...submission, input: { ...input, found } })
    // Other sessions have taken all of the found messages meanwhile: finds later ones.
    if (found.waiting.length > 0 && isNothingNew(reply)) reply = unfinishedReply
  }
  return reply
}

/**
 * Marks messages as read. A long thread takes several commands. The last one has the call's id, and its answer counts all messages, so that a repeated call
 * gets the same count.
 */
export async function submitMarkRead(
  {
    store,
    engine,
    reads,
    ids,
  }: Pick<WorkspaceParts, 'store' | 'engine' | 'reads'> & { ids: (prefix: string) => string },
  submission: Submission<'inbox.read'>,
  abandoned: AbortSignal,
): Promise<CommandReply> {
  const { input, by } = submission
  const { thread } = input
  const reply = await engine.submit(submission)
  if (!isUnfinished(reply) || thread === undefined) return reply
  const unread = await reads.run(unreadInThread(store.view, by, thread), new ReadTimeBudget(), abandoned)
  let [at, marked] = [0, 0]
  for (; unread.length - at > markReadMax; at += markReadMax) {
    const found = { messages: unread.slice(at, at + markReadMax), marked: 0 }
    const part = await engine.submit({ rule: 'inbox.read', input: { found }, by, cause: ids('d') })
    if ('refusal' in part) return part
    marked += part.outcome.read as number
  }
  return engine.submit({ ...submission, input: { ...input, found: { messages: unread.slice(at), marked } } })
}

const unfinishedReply: CommandReply = { seq: 0, outcome: { isUnfinished: true }, repeat: false }

function isUnfinished(reply: CommandReply): boolean {
  return 'outcome' in reply && reply.outcome.isUnfinished === true
}

function isNothingNew(reply: CommandReply): boolean {
  return 'outcome' in reply && !reply.repeat && (reply.outcome.messages as string[]).length === 0
}
