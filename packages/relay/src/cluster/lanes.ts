// Which commands are decided where. What an agent does with its own mail concerns its home machine alone: such a command needs no other
// machine (local-lane.ts), and the others are told of it in notes (notes.ts). What it spends stays there too: no decision reads it, and a turn
// must not go uncounted because the cluster cannot be reached. All else is decided against the shared journal.

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

/** A rule that nobody has thought about is shared: that may be slow, and is never wrong. */
export function laneOf(rule: RuleName): Lane {
  return local.has(rule) ? 'local' : 'shared'
}
