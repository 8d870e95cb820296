// The row of the table of facts (stored events) about spend: what one turn of a model has used.

import { sees } from '../sight.ts'
import { type FactRows, homeOfAgent, noKey } from './row.ts'
import { amount, count, fields, label, maybe, text } from './shape.ts'

export const spendFacts: FactRows<'spend.noted'> = {
  'spend.noted': {
    shape: {
      agent: label,
      worker: maybe(label),
      run: maybe(text),
      model: maybe(text),
      tokens: fields({ input: count, output: count, cached: count }),
      usd: maybe(amount),
    },
    said: homeOfAgent,
    seen: { to: 'everyone', if: (view, reader, { agent }) => sees(view, reader, 'spend', { agent }) },
    writes: noKey,
    over: 'never',
  },
}
