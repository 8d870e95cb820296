// Operations on spend: the tokens and the cost of the models that agents use.

import { z } from 'zod'
import { Spend, SpendLine, spendGroups } from '../spend.ts'
import type { OperationTable } from './rule.ts'

export const spendOperations = {
  'spend.list': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary:
      'The tokens that you and your workers have used, and their cost where the vendor says it; of everybody for people and the key holder.',
    /** The field by which the spend is grouped. Unset: by agent. The group with the largest spend comes first; days come newest first. */
    input: z.object({ by: z.enum(spendGroups).optional() }),
    output: z.object({
      by: z.enum(spendGroups),
      spend: z.array(SpendLine),
      total: Spend.extend({ turns: z.number() }),
    }),
  },
} satisfies OperationTable
