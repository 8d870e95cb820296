// Lanes: which commands are decided in the shared journal, and which on one machine alone. An agent's own mail concerns its home machine alone: such a
// command needs no other machine (local-lane.ts), and the other machines learn of it from reports (notes.ts). An agent's spend stays on its home machine
// too: no decision reads it, and a turn must not go uncounted because the cluster cannot be reached. All else is decided against the shared journal.

import type { RuleName } from '../core/decide.ts'

export type Lane = 'shared' | 'local'

const local: ReadonlySet<RuleName> = new Set([
  'inbox.take',
  'inbox.offer',
  'inbox.read',
  'inbox.let-go',
  'inbox.keep',
  'agent.brief',
  'spend.note',
])

/** Returns the lane of a rule. A rule that is not listed is decided in the shared journal: possibly slow, never wrong. */
export function laneOf(rule: RuleName): Lane {
  return local.has(rule) ? 'local' : 'shared'
}
