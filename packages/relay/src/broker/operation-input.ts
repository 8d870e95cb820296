// Checks the input of an operation by its schema. Plain messages, the most frequent input, are accepted without the schema, to save time; only the schema
// refuses.

import { issuesText, type OperationName, operations, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import type { z } from 'zod'
import { RefusalError } from '../core/refusal-error.ts'
import { readPlainSend } from './plain-send.ts'

export function parseInput<O extends OperationName>(op: O, input: unknown): ParsedInputOf<O> {
  const plain = op === 'message.send' ? readPlainSend(input) : undefined
  if (plain) return plain as ParsedInputOf<O>
  const result = (operations[op].input as unknown as z.ZodType<ParsedInputOf<O>>).safeParse(input ?? {})
  if (result.success) return result.data
  throw new RefusalError('input.invalid', { operation: op, why: issuesText(result.error.issues) })
}
