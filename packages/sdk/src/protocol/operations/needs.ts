// Operations on needs, the things that wait for a person. The list is the same in every session of the person.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { Need } from '../needs.ts'
import { type OperationTable, pageSizeSchema } from './rule.ts'

export const needOperations = {
  'need.list': {
    kind: 'query',
    who: 'agent',
    network: 'token',
    summary:
      'What waits for you, the most urgent first and then the oldest: open approvals, blocked workers, questions, workers and runs that failed, messages to you.',
    input: z.object({ limit: pageSizeSchema.optional() }),
    output: z.object({ needs: z.array(Need), more: z.number() }),
  },
  'need.dismiss': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary:
      'Take a question, messages, a failed worker or a failed run off your needs, without an answer. Later ones are listed again.',
    input: z.object({
      key: z.string().min(1).max(limits.pathCharsMax),
      /** The `seq` of the newest message of the need that the person has seen; later messages remain a need. Unset: that of the need's newest message. */
      through: z.number().int().min(0).optional(),
    }),
    output: z.object({}),
  },
} satisfies OperationTable
