// Messages that are held (reserved) for one route to a model: an interface of its CLI, or text typed into its terminal. A message is held before it is shown,
// by the rule that decides all takes, so that two routes that look at the same moment never both show it. A route that fails gives the message back.

import type { InboxMessage, Route } from '@agent-relay/sdk/protocol'
import { messageHoldMs, pickMessages } from '../../core/inbox.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Alarm, hasPassed } from '../../machine/clock.ts'
import type { WorkspaceParts } from '../call.ts'
import { acceptedReplyOrThrow } from '../commands.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import type { Session } from '../sessions/session.ts'
import type { MessageHold } from '../sessions/sessions.ts'
import type { HeldMail, MailLimits } from './user-session-runtime.ts'

/** Interval at which a hold on messages is renewed. A hold ends after `messageHoldMs`, but a dialog on the screen may delay the messages for longer. */
const renewalMs = messageHoldMs / 2

/**
 * Holds (reserves) the agent's waiting messages. Undefined if it was shown all of them already. `young`: the waiting messages are so new that a hook may still
 * take them.
 */
export async function holdMail(
  parts: WorkspaceParts,
  session: Session,
  { graceMs = 0, ...room }: MailLimits,
): Promise<HeldMail | 'young' | undefined> {
  const { store, engine, sessions, clock, reads, ids, isBlocked } = parts
  const by = session.agent
  // An agent that waits for an approval gets no messages: they could push the question off its screen.
  if (by === undefined || isBlocked(by)) return undefined
  const input = { route: 'hook', oneAtLeast: true, uncounted: true, ...room } as const
  const hold = sessions.openHold(session)
  try {
    const looking = pickMessages(store.view, { input, by, at: clock.now(), world: sessions })
    const { waiting } = await reads.run(looking, new ReadTimeBudget(), session.ended)
    const found = waiting.filter(({ head }) => hasPassed(graceMs, head.at, clock.now()))
    if (found.length > 0) {
      const taking = { ...input, found: { waiting: found, more: 0 } }
      const command = { rule: 'inbox.take', input: taking, by, cause: ids('d'), session: hold.id } as const
      const { outcome } = acceptedReplyOrThrow(await engine.submit(command))
      const messages = store.queries.inboxMessages(by, outcome.messages as string[])
      if (messages.length > 0) return new HeldMessages({ parts, session, by, hold }, messages)
    }
    hold.forget()
    return waiting.length > found.length ? 'young' : undefined
  } catch (error) {
    hold.forget()
    // The disk is full, or the session has ended: the messages stay in the inbox.
    if (error instanceof RefusalError || session.ended.aborted) return undefined
    throw error
  }
}

interface HeldMailParts {
  parts: WorkspaceParts
  session: Session
  by: string
  hold: MessageHold
}

class HeldMessages implements HeldMail {
  readonly messages: readonly InboxMessage[]
  readonly #mail: HeldMailParts
  #route: Route | undefined
  #alarm: Alarm

  constructor(mail: HeldMailParts, messages: readonly InboxMessage[]) {
    this.#mail = mail
    this.messages = messages
    this.#alarm = this.#scheduleRenewal()
  }

  async markOffered(route: Route): Promise<void> {
    const { parts, session, by } = this.#mail
    const { engine, sessions, ids } = parts
    const messages = this.#messageIds
    const isFirst = this.#route === undefined
    this.#route = route
    const input = { messages, route }
    const reply = await engine.submit({ rule: 'inbox.offer', input, by, cause: ids('d'), session: session.id })
    if (isFirst) sessions.recordShownOutsideAnswers(by, messages)
    // If the offer was not stored, for example on a full disk, the messages stay held, so that the agent is not shown them twice.
    if (!('refusal' in reply)) this.#end()
  }

  release(): void {
    this.#alarm.cancel()
    this.#mail.hold.release()
  }

  get #messageIds(): string[] {
    return this.messages.map(({ id }) => id)
  }

  #end(): void {
    this.#alarm.cancel()
    this.#mail.hold.forget()
  }

  #scheduleRenewal(): Alarm {
    return this.#mail.parts.clock.after(renewalMs, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const { parts, session, by, hold } = this.#mail
    const { engine, ids } = parts
    if (session.ended.aborted) return this.#end()
    this.#alarm = this.#scheduleRenewal()
    if (this.#route !== undefined) return this.markOffered(this.#route)
    const input = { messages: this.#messageIds }
    await engine.submit({ rule: 'inbox.keep', input, by, cause: ids('d'), session: hold.id })
  }
}
