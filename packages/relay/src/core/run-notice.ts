// The notice that a run has ended: one message from the daemon to the agent that asked for the run, in the journal entry that ends the run.

import { oneLine } from '@agent-relay/sdk/internal/clean'
import { daemonName, type Fact } from '@agent-relay/sdk/protocol'
import { send } from './messages.ts'
import type { Command } from './verdict.ts'
import type { RunRow, View, WorkerRow } from './view.ts'

/**
 * Number of characters quoted from the beginning and from the end of a summary or reason. The end is quoted too, since a screen's last lines usually tell most.
 */
const partCharsMax = 150

export type RunEnd =
  | { status: 'completed'; summary: string; payloadBytes?: number }
  | { status: 'stopped'; reason?: string }

/**
 * Returns the facts of the notice. Empty if there is nobody to tell, or if the run's parent knows already: it carried the run out, or made the call that ends
 * it.
 */
export function runEndNotice(
  view: View,
  command: Command<unknown>,
  run: RunRow,
  end: RunEnd,
): { facts: Fact[]; body?: string } {
  const { agent, parent } = run
  const asker = view.agent(parent)
  if (!asker || parent === agent || parent === command.by) return { facts: [] }
  const branch = view.workers.byName(agent)?.worktree?.branch
  const body = noticeText(run, command.by, end, { isForPerson: asker.type === 'human', branch })
  const told = send(view, { ...command, by: daemonName, input: { to: parent, body, kind: 'status' } })
  return 'refusal' in told ? { facts: [] } : told
}

interface NoticeContext {
  isForPerson: boolean
  /** The git branch of the worktree in which the run was carried out. */
  branch?: string
}

function noticeText({ id, agent }: RunRow, by: string, end: RunEnd, { isForPerson, branch }: NoticeContext): string {
  const isOwn = by === daemonName || by === agent
  const who = isOwn ? '' : ` by ${by}`
  const words = shortened(end.status === 'completed' ? end.summary : (end.reason ?? ''))
  const size = end.status === 'completed' ? end.payloadBytes : undefined
  const reading = isForPerson ? `agent-relay runs payload ${id}` : `agent_payload("${id}")`
  const payload = size === undefined ? '' : `Payload: ${size} bytes, to read it: ${reading}. `
  const work = branch === undefined ? '' : `Its branch: ${branch}. `
  const more = isForPerson ? `agent-relay runs status ${id}` : `agent_status(["${id}"])`
  return `Run ${id} (${agent}) is ${end.status}${who}${words === '' ? '' : `: ${words}`}\n${payload}${work}All of it: ${more}`
}

/** Shortens text to one line, so that no words of another agent can pass for the daemon's. */
function shortened(text: string): string {
  const chars = [...oneLine(text)]
  if (chars.length <= 2 * partCharsMax) return chars.join('')
  return `${chars.slice(0, partCharsMax).join('')} … ${chars.slice(-partCharsMax).join('')}`
}

/**
 * Whether a worker carries out a run. When such a worker exits, its parent is told of the end of the run, not of the worker. A run that ended before the
 * worker began does not count, since a later worker may have the same name.
 */
export function carriesOutRun(view: View, { name, at }: WorkerRow): boolean {
  const run = view.runs.byAgent(name)
  return run !== undefined && (run.endedAt === undefined || run.endedAt >= at)
}
