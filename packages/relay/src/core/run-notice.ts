// What the one who asked for a run is told when it ends: one message of the daemon's own, in the very entry that ends it.

import { daemonName, type Fact } from '@agent-relay/sdk/protocol'
import { send } from './messages.ts'
import type { Command } from './verdict.ts'
import type { RunRow, View, WorkerRow } from './view.ts'

/** Of a summary or a reason, from its beginning and from its end: what a screen says last is worth more than what it says first. */
const partCharsMax = 150

export type End =
  | { status: 'completed'; summary: string; payloadBytes?: number }
  | { status: 'stopped'; reason?: string }

/** Nothing where nobody is there to be told, or knows already: who carried it out himself, and who made the call that ends it. */
export function noticeOf(
  view: View,
  command: Command<unknown>,
  run: RunRow,
  end: End,
): { facts: Fact[]; body?: string } {
  const { agent, parent } = run
  const asker = view.agent(parent)
  if (!asker || parent === agent || parent === command.by) return { facts: [] }
  const body = noticeText(run, command.by, end, asker.type === 'human')
  const told = send(view, { ...command, by: daemonName, input: { to: parent, body, kind: 'status' } })
  return 'refusal' in told ? { facts: [] } : told
}

function noticeText({ id, agent }: RunRow, by: string, end: End, isForPerson: boolean): string {
  const isOwn = by === daemonName || by === agent
  const who = isOwn ? '' : ` by ${by}`
  const words = shortened(end.status === 'completed' ? end.summary : (end.reason ?? ''))
  const size = end.status === 'completed' ? end.payloadBytes : undefined
  const payload = size === undefined ? '' : `Payload: ${size} bytes. `
  const more = isForPerson ? `agent-relay runs status ${id}` : `agent_status(["${id}"])`
  return `Run ${id} (${agent}) is ${end.status}${who}${words === '' ? '' : `: ${words}`}\n${payload}All of it: ${more}`
}

/** On one line, so that no word of another's can pass for the daemon's. */
function shortened(text: string): string {
  const chars = [...text.replace(/\s+/g, ' ').trim()]
  if (chars.length <= 2 * partCharsMax) return chars.join('')
  return `${chars.slice(0, partCharsMax).join('')} … ${chars.slice(-partCharsMax).join('')}`
}

/** When such a worker exits its run has ended or is about to, and that is what its parent is told. Later ones may bear its name. */
export function carriesOutRun(view: View, { name, at }: WorkerRow): boolean {
  const run = view.runs.byAgent(name)
  return run !== undefined && (run.endedAt === undefined || run.endedAt >= at)
}
