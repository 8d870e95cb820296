// The row of the table of facts (stored events) for a person's dismissal of a need, one of the things that wait for that person.

import { type FactRows, homeOfAgent, noKey } from './row.ts'
import { count, label, text } from './shape.ts'

export const needFacts: FactRows<'need.dismissed'> = {
  'need.dismissed': {
    shape: { agent: label, key: text, through: count },
    said: homeOfAgent,
    seen: { to: 'agents', who: ({ agent }) => [agent] },
    // No rule reads dismissals, so this fact writes no conflict key.
    writes: noKey,
    over: 'never',
  },
}
