// What the broker does for those who wake sessions that people started: it names the sessions, holds their mail, and records the offer when the
// host has taken it. How a host is woken lives in supervisor/control.

import type { Fact } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { Briefs } from './briefs.ts'
import type { Parts } from './call.ts'
import { submitTake } from './inbox.ts'
import type { Reach } from './reach.ts'
import type { Session } from './sessions/session.ts'
import type { HoldHandle } from './sessions/sessions.ts'
import type { HeldMail, OwnSession, WakeLedger } from './wake-runtime.ts'
import type { Workers } from './workers/workers.ts'

/** One wake-up is one text for the model: what is beyond this comes with the next one. */
const batchMax = 32

export class Waking implements WakeLedger {
  readonly #parts: Parts
  readonly #workers: Workers
  readonly #reach: Reach
  readonly #briefs: Briefs

  constructor(parts: Parts, workers: Workers, reach: Reach, briefs: Briefs) {
    this.#parts = parts
    this.#workers = workers
    this.#reach = reach
    this.#briefs = briefs
  }

  sessionsOf(cli: string): OwnSession[] {
    const sessions: OwnSession[] = []
    for (const { id, agent, host, directory, codexThread, mailTools } of this.#parts.sessions.ofCli(cli))
      if (agent !== undefined && !this.#workers.stateOf(agent))
        sessions.push({ id, agent, host, directory, codexThread, sendTool: mailTools?.send })
    return sessions
  }

  onSessions(cli: string, listener: () => void): () => void {
    const { sessions } = this.#parts
    let known = 0
    return sessions.onChange((agent) => {
      const here = sessions.ofCli(cli)
      const isTheirs = here.size !== known || [...here].some((session) => session.agent === agent)
      known = here.size
      if (isTheirs) listener()
    })
  }

  onMail(listener: (isFor: (agent: string) => boolean) => void): () => void {
    const { hub, store } = this.#parts
    const tell = (fact: Fact) => {
      if (fact.type === 'message.created') listener((agent) => store.view.isMember(agent, fact.conversation))
      else if (fact.type === 'delivery.released' || fact.type === 'approval.closed')
        listener((agent) => agent === fact.agent)
    }
    return hub.listen((entries) => entries.forEach(({ facts }) => void facts.forEach(tell)))
  }

  async hold({ id, agent }: OwnSession): Promise<HeldMail | undefined> {
    const { sessions, store, nextCause, isBlocked } = this.#parts
    const session = sessions.live(id)
    if (session?.agent !== agent || isBlocked(agent)) return undefined
    const hold = sessions.hold(session)
    try {
      const input = { route: 'hook', limit: batchMax, uncounted: true } as const
      const command = { rule: 'inbox.take', input, by: agent, cause: nextCause(), session: hold.id } as const
      const reply = await submitTake(this.#parts, command, session.ended)
      if ('refusal' in reply) throw new RefusalError(reply.refusal)
      const messages = store.queries.inboxMessages(agent, reply.outcome.messages as string[])
      if (messages.length > 0) {
        const opening = await this.#opening(session, agent)
        const offered: HeldMail['offered'] = (route) => this.#offer(session, agent, { messages, route }, hold)
        const release = () => {
          if (opening !== '') this.#briefs.isNowDue(agent, 'compact')
          hold.release()
        }
        return { messages, opening, offered, release }
      }
    } catch {
      // A full disk, or the session has ended: the mail stays where it is.
    }
    hold.forget()
    return undefined
  }

  wasCompacted({ agent }: OwnSession): void {
    this.#briefs.isNowDue(agent, 'compact')
  }

  async #opening(session: Session, agent: string): Promise<string> {
    const asking = { session, by: agent, id: this.#parts.nextCause(), abandoned: session.ended }
    return (await this.#briefs.tell(asking, {})).text
  }

  wakes(agent: string): () => void {
    return this.#reach.wakes(agent)
  }

  async #offer(
    session: Session,
    agent: string,
    { messages, route }: { messages: HeldMail['messages']; route: Parameters<HeldMail['offered']>[0] },
    hold: HoldHandle,
  ): Promise<void> {
    const { engine, sessions, nextCause } = this.#parts
    const ids = messages.map(({ id }) => id)
    const input = { messages: ids, route }
    const reply = await engine.submit({
      rule: 'inbox.offer',
      input,
      by: agent,
      cause: nextCause(),
      session: session.id,
    })
    sessions.paste(agent, ids)
    // Where it could not be recorded, such as on a full disk, the hold goes on: it was put before the agent once.
    if (!('refusal' in reply)) hold.forget()
  }
}
