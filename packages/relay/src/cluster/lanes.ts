// Lanes: whether a command is decided against the shared journal, or on one machine alone (local). An agent's own mail concerns only its home machine, so
// such a command needs no other machine (local-lane.ts), and the others learn of it from reports (notes.ts). An agent's spend is stored on its home machine
// too: no decision reads it, and it must be counted even while the cluster cannot be reached. All other commands are decided against the shared journal.

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

/** Returns the lane of a rule. A rule that is not in the list is decided against the shared journal, which is slower but always correct. */
export function laneOf(rule: RuleName): Lane {
  return local.has(rule) ? 'local' : 'shared'
}
