// The fact that a person has dismissed one of their needs.

import { type FactRows, homeOfAgent, noKey } from './row.ts'
import { count, label, text } from './shape.ts'

export const needFacts: FactRows<'need.dismissed'> = {
  'need.dismissed': {
    shape: { agent: label, key: text, through: count },
    said: homeOfAgent,
    seen: { to: 'agents', who: ({ agent }) => [agent] },
    // No rule reads what was dismissed.
    writes: noKey,
    over: 'never',
  },
}
