// The CLI sessions that people started themselves: lists them for the code that wakes them, tells that code when messages come, and holds (reserves) messages
// for them. The ways to wake a session of each CLI are in supervisor/.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { WorkspaceParts } from '../call.ts'
import type { WorkerStates } from '../presence/availability.ts'
import type { Session } from '../sessions/session.ts'
import type { ProgramState } from '../sessions/sessions.ts'
import type { AgentReachability } from './agent-reachability.ts'
import type { Briefs } from './briefs.ts'
import { holdMail } from './held-mail.ts'
import type { MailWithBrief, UserSession } from './user-session-runtime.ts'

/** Maximum number of messages in one wake-up, which is one text for the model; further messages come with the next wake-up. */
const batchMax = 32

type UserSessionParts = WorkspaceParts & { workers: WorkerStates; reach: AgentReachability; briefs: Briefs }

export class UserSessions {
  readonly #parts: UserSessionParts

  constructor(parts: UserSessionParts) {
    this.#parts = parts
  }

  /** Lists the sessions of this CLI, without those of workers. */
  sessionsOf(cli: string): UserSession[] {
    const sessions: UserSession[] = []
    for (const { id, agent, host, directory, calledThread, mailTools } of this.#parts.sessions.ofCli(cli))
      if (agent !== undefined && !this.#parts.workers.stateOf(agent))
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

  /** Holds (reserves) the messages that wait for the session's agent. Undefined if the agent was shown all of them already. */
  async holdMail({ id, agent }: UserSession, limit = batchMax): Promise<MailWithBrief | undefined> {
    const session = this.#parts.sessions.liveById(id)
    const held = session?.agent === agent ? await holdMail(this.#parts, session, { limit }) : undefined
    if (!session || !held || held === 'young') return undefined
    // A brief names the relay's tools, so only a session that has them gets one.
    const opening = session.isInitialized ? await this.#briefText(session, agent) : ''
    const release = () => {
      if (opening !== '') this.#parts.briefs.markDue(agent, 'compact')
      held.release()
    }
    return { messages: held.messages, briefText: opening, markOffered: (route) => held.markOffered(route), release }
  }

  /** Records that the session's memory was cut: its agent gets a brief with the next messages. */
  recordCompaction({ agent }: UserSession): void {
    this.#parts.briefs.markDue(agent, 'compact')
  }

  async #briefText(session: Session, agent: string): Promise<string> {
    const asking = { session, by: agent, id: this.#parts.ids('d'), abandoned: session.ended }
    return (await this.#parts.briefs.giveBrief(asking, {})).text
  }

  /** Sets the session's state for lists of agents: the activity of its program, and why the program's own interface takes no messages. */
  setProgramState({ id, agent }: UserSession, word: ProgramState): void {
    const { sessions } = this.#parts
    if (sessions.liveById(id)?.agent === agent) sessions.setProgramState(agent, word)
  }

  /** Records that messages wake the agent from now on, until the returned function is called. */
  recordWaking(agent: string): () => void {
    return this.#parts.reach.recordWaking(agent)
  }
}
