// The row of the table of facts (stored events) for a person's dismissal of a need, one of the things that wait for that person.

import { type FactRows, noConflictKeys, onlyHomeMachine } from './row.ts'
import { isCount, isLabel, isText } from './shape.ts'

export const needFacts: FactRows<`need.${string}`> = {
  'need.dismissed': {
    shape: { agent: isLabel, key: isText, through: isCount },
    mayAppend: onlyHomeMachine,
    audience: { to: 'agents', agentNames: ({ agent }) => [agent] },
    // No rule reads dismissals, so this fact writes no conflict key.
    changedKeys: noConflictKeys,
  },
}
