// Briefs: texts that tell a model whose memory was cut the situation of its agent. Most CLIs run a hook after the cut, which asks for the brief; if a CLI only
// reports the cut, the brief goes with the agent's next messages. core/brief.ts writes the text.

import type { AgentBriefed, OutputOf, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { composeBrief } from '../../core/brief.ts'
import type { CallContext, WorkspaceParts } from '../call.ts'
import { submitCall } from '../commands.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import type { ReplyWaits } from '../presence/reply-waits.ts'
import { mailToolsOf } from '../sessions/session.ts'

/** Time in which an agent gets at most one brief: a CLI may run our hook twice at one event, from two of its configuration files. */
const onceMs = 2_000
const noBrief = { text: '' }

export class Briefs {
  readonly #parts: WorkspaceParts
  readonly #waits: ReplyWaits
  /** The time of each agent's last brief. */
  readonly #briefedAt = new Map<string, number>()
  readonly #due = new Map<string, AgentBriefed['after']>()

  constructor(parts: WorkspaceParts, waits: ReplyWaits) {
    this.#parts = parts
    this.#waits = waits
  }

  /** Records that the agent's memory was cut, and that nobody has asked for its brief yet. */
  markDue(agent: string, after: AgentBriefed['after']): void {
    this.#due.set(agent, after)
  }

  isDue(agent: string): boolean {
    return this.#due.has(agent)
  }

  async giveBrief(asking: CallContext, input: ParsedInputOf<'agent.brief'>): Promise<OutputOf<'agent.brief'>> {
    const { store, sessions, clock, reads } = this.#parts
    const { by, session, abandoned } = asking
    const now = clock.steady()
    const isRepeat = store.recordedAnswer(by, asking.id) !== undefined
    const { after = isRepeat ? 'compact' : this.#due.get(by) } = input
    if (after === undefined) return noBrief
    if (!isRepeat) this.#due.delete(by)
    if (!isRepeat && now - (this.#briefedAt.get(by) ?? Number.NEGATIVE_INFINITY) < onceMs) return noBrief
    this.#briefedAt.set(by, now)
    const { inbox: inboxTool } = mailToolsOf(sessions.ofAgent(by))
    const told = { by, at: clock.now(), session: session.id, world: sessions, after, inboxTool }
    // A repeated call composes no new brief, since the engine answers it with the first one.
    const telling = composeBrief(store.view, told, this.#waits.awaitedMessageIds(by))
    const text = isRepeat ? '' : await reads.run(telling, new ReadTimeBudget(), abandoned)
    return (await submitCall(this.#parts, asking, 'agent.brief', { after, text })).outcome as OutputOf<'agent.brief'>
  }
}
