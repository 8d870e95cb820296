// The row of the table of facts (stored events) about spend: what one turn of a model has used.

import { sees } from '../sight.ts'
import { type FactRows, noConflictKeys, onlyHomeMachine } from './row.ts'
import { hasFields, isAmount, isCount, isLabel, isText, optional } from './shape.ts'

export const spendFacts: FactRows<`spend.${string}`> = {
  'spend.noted': {
    shape: {
      agent: isLabel,
      worker: optional(isLabel),
      run: optional(isText),
      model: optional(isText),
      tokens: hasFields({ input: isCount, output: isCount, cached: isCount }),
      usd: optional(isAmount),
    },
    mayAppend: onlyHomeMachine,
    audience: { to: 'everyone', if: (view, reader, { agent }) => sees(view, reader, 'spend', { agent }) },
    changedKeys: noConflictKeys,
  },
}
