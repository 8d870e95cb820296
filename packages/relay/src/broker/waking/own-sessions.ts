// The CLI sessions that people started themselves: lists them for the code that wakes them, tells when messages come, and holds messages for them. The ways to
// wake a session of each CLI are in supervisor/.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { Parts } from '../call.ts'
import type { WorkerStates } from '../presence/availability.ts'
import type { Session } from '../sessions/session.ts'
import type { OwnWord } from '../sessions/sessions.ts'
import type { Briefs } from './briefs.ts'
import { holdMail } from './held-mail.ts'
import type { OpenedMail, OwnSession } from './own-session-runtime.ts'
import type { Reach } from './reach.ts'

/** Maximum number of messages in one wake-up, which is one text for the model; further messages come with the next wake-up. */
const batchMax = 32

export class OwnSessions {
  readonly #parts: Parts
  readonly #workers: WorkerStates
  readonly #reach: Reach
  readonly #briefs: Briefs

  constructor(parts: Parts, workers: WorkerStates, reach: Reach, briefs: Briefs) {
    this.#parts = parts
    this.#workers = workers
    this.#reach = reach
    this.#briefs = briefs
  }

  /** Lists the sessions of this CLI, without those of workers. */
  sessionsOf(cli: string): OwnSession[] {
    const sessions: OwnSession[] = []
    for (const { id, agent, host, directory, calledThread, mailTools } of this.#parts.sessions.ofCli(cli))
      if (agent !== undefined && !this.#workers.stateOf(agent))
        sessions.push({ id, agent, host, directory, calledThread, sendTool: mailTools?.send })
    return sessions
  }

  /** Calls the listener when messages may have come; `isFor` tells whether they are in an agent's inbox. */
  onMail(listener: (isFor: (agent: string) => boolean) => void): () => void {
    const { hub, store } = this.#parts
    const tell = (fact: Fact) => {
      if (fact.type === 'message.created') listener((agent) => store.view.isMember(agent, fact.conversation))
      else if (fact.type === 'delivery.released' || fact.type === 'approval.closed')
        listener((agent) => agent === fact.agent)
    }
    return hub.listen((entries) => entries.forEach(({ facts }) => void facts.forEach(tell)))
  }

  /** Holds the messages that wait for the session's agent. Undefined: no message waits that the agent was not shown already. */
  async hold({ id, agent }: OwnSession, limit = batchMax): Promise<OpenedMail | undefined> {
    const session = this.#parts.sessions.live(id)
    const held = session?.agent === agent ? await holdMail(this.#parts, session, { limit }) : undefined
    if (!session || !held || held === 'young') return undefined
    // A brief names the relay's tools, so only a session that has them gets one.
    const opening = session.isInitialized ? await this.#opening(session, agent) : ''
    const release = () => {
      if (opening !== '') this.#briefs.isNowDue(agent, 'compact')
      held.release()
    }
    return { messages: held.messages, opening, offered: (route) => held.offered(route), release }
  }

  /** Records that the session's memory was cut: its agent gets a brief with the next messages. */
  wasCompacted({ agent }: OwnSession): void {
    this.#briefs.isNowDue(agent, 'compact')
  }

  async #opening(session: Session, agent: string): Promise<string> {
    const asking = { session, by: agent, id: this.#parts.ids('d'), abandoned: session.ended }
    return (await this.#briefs.tell(asking, {})).text
  }

  /** Sets the session's state for lists of agents: the activity of its program, and why the program's own interface takes no messages. */
  shows({ id, agent }: OwnSession, word: OwnWord): void {
    const { sessions } = this.#parts
    if (sessions.live(id)?.agent === agent) sessions.shows(agent, word)
  }

  /** Records that messages wake the agent from now on, until the returned function is called. */
  wakes(agent: string): () => void {
    return this.#reach.wakes(agent)
  }
}
