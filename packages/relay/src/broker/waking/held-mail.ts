// Messages that are held for one route to a model: an interface of its CLI, or its keyboard. A message is held before it is shown, by the rule that decides all
// takes, so that two routes that look at the same moment never both show it. A route that fails gives the message back.

import type { InboxMessage, Route } from '@agent-relay/sdk/protocol'
import { offerMs, pick } from '../../core/inbox.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Alarm, hasPassed } from '../../machine/clock.ts'
import type { Parts } from '../call.ts'
import { Budget } from '../long-reads.ts'
import type { Session } from '../sessions/session.ts'
import type { HoldHandle } from '../sessions/sessions.ts'
import type { HeldMail, MailRoom } from './own-session-runtime.ts'

/** Interval at which a hold on messages is renewed. It would end after `offerMs`, and a dialog that comes in between may take longer. */
const keepMs = offerMs / 2

/**
 * Holds the agent's waiting messages. Undefined: no message waits that the agent was not shown already. `young`: a hook may still take the waiting messages.
 */
export async function holdMail(
  parts: Parts,
  session: Session,
  { graceMs = 0, ...room }: MailRoom,
): Promise<HeldMail | 'young' | undefined> {
  const { store, engine, sessions, clock, reads, ids, isBlocked } = parts
  const by = session.agent
  // An agent that waits for an approval gets no messages: they could push the question off its screen.
  if (by === undefined || isBlocked(by)) return undefined
  const input = { route: 'hook', oneAtLeast: true, uncounted: true, ...room } as const
  const hold = sessions.hold(session)
  try {
    const looking = pick(store.view, { input, by, at: clock.now(), world: sessions })
    const { waiting } = await reads.run(looking, new Budget(), session.ended)
    const found = waiting.filter(({ head }) => hasPassed(graceMs, head.at, clock.now()))
    if (found.length > 0) {
      const taking = { ...input, found: { waiting: found, more: 0 } }
      const command = { rule: 'inbox.take', input: taking, by, cause: ids('d'), session: hold.id } as const
      const reply = await engine.submit(command)
      if ('refusal' in reply) throw new RefusalError(reply.refusal)
      const messages = store.queries.inboxMessages(by, reply.outcome.messages as string[])
      if (messages.length > 0) return new Held(parts, session, by, hold, messages)
    }
    hold.forget()
    return waiting.length > found.length ? 'young' : undefined
  } catch (error) {
    hold.forget()
    // The messages stay in the inbox: the disk is full, or the session has ended.
    if (error instanceof RefusalError || session.ended.aborted) return undefined
    throw error
  }
}

class Held implements HeldMail {
  readonly messages: readonly InboxMessage[]
  readonly #parts: Parts
  readonly #session: Session
  readonly #by: string
  readonly #hold: HoldHandle
  #route: Route | undefined
  #alarm: Alarm

  constructor(parts: Parts, session: Session, by: string, hold: HoldHandle, messages: readonly InboxMessage[]) {
    this.#parts = parts
    this.#session = session
    this.#by = by
    this.#hold = hold
    this.messages = messages
    this.#alarm = this.#later()
  }

  async offered(route: Route): Promise<void> {
    const { engine, sessions, ids } = this.#parts
    const [messages, by] = [this.#messageIds, this.#by]
    const isFirst = this.#route === undefined
    this.#route = route
    const [input, session] = [{ messages, route }, this.#session.id]
    const reply = await engine.submit({ rule: 'inbox.offer', input, by, cause: ids('d'), session })
    if (isFirst) sessions.paste(by, messages)
    // If the offer was not recorded, for example on a full disk, the hold stays, so that the agent is not shown the messages twice.
    if (!('refusal' in reply)) this.#end()
  }

  release(): void {
    this.#alarm.cancel()
    this.#hold.release()
  }

  get #messageIds(): string[] {
    return this.messages.map(({ id }) => id)
  }

  #end(): void {
    this.#alarm.cancel()
    this.#hold.forget()
  }

  #later(): Alarm {
    return this.#parts.clock.after(keepMs, () => void this.#keep())
  }

  async #keep(): Promise<void> {
    if (this.#session.ended.aborted) return this.#end()
    const { engine, ids } = this.#parts
    this.#alarm = this.#later()
    if (this.#route !== undefined) return this.offered(this.#route)
    const input = { messages: this.#messageIds }
    await engine.submit({ rule: 'inbox.keep', input, by: this.#by, cause: ids('d'), session: this.#hold.id })
  }
}
