// What the broker does for those who wake sessions that people started: it names the sessions and holds their mail. How a host is
// woken lives in supervisor/control.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { Parts } from '../call.ts'
import type { Session } from '../sessions/session.ts'
import type { OwnWord } from '../sessions/sessions.ts'
import type { Workers } from '../workers/workers.ts'
import type { Briefs } from './briefs.ts'
import { holdMail } from './held-mail.ts'
import type { Reach } from './reach.ts'
import type { OpenedMail, OwnSession, WakeLedger } from './wake-runtime.ts'

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

  async hold({ id, agent }: OwnSession, limit = batchMax): Promise<OpenedMail | undefined> {
    const session = this.#parts.sessions.live(id)
    const held = session?.agent === agent ? await holdMail(this.#parts, session, { limit }) : undefined
    if (!session || !held || held === 'young') return undefined
    // A brief names tools of ours.
    const opening = session.isInitialized ? await this.#opening(session, agent) : ''
    const release = () => {
      if (opening !== '') this.#briefs.isNowDue(agent, 'compact')
      held.release()
    }
    return { messages: held.messages, opening, offered: (route) => held.offered(route), release }
  }

  wasCompacted({ agent }: OwnSession): void {
    this.#briefs.isNowDue(agent, 'compact')
  }

  async #opening(session: Session, agent: string): Promise<string> {
    const asking = { session, by: agent, id: this.#parts.nextCause(), abandoned: session.ended }
    return (await this.#briefs.tell(asking, {})).text
  }

  shows({ id, agent }: OwnSession, word: OwnWord): void {
    const { sessions } = this.#parts
    if (sessions.live(id)?.agent === agent) sessions.shows(agent, word)
  }

  wakes(agent: string): () => void {
    return this.#reach.wakes(agent)
  }
}
