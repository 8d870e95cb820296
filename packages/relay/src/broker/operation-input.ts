// Reads the input of an operation by its schema, and digests it, so that the id of one call cannot be taken for another.

import { hash } from 'node:crypto'
import { issuesText, type OperationName, operations, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import type { z } from 'zod'
import { RefusalError } from '../core/refusal-error.ts'

export function parseInput<O extends OperationName>(op: O, input: unknown): ParsedInputOf<O> {
  const result = (operations[op].input as unknown as z.ZodType<ParsedInputOf<O>>).safeParse(input ?? {})
  if (result.success) return result.data
  throw new RefusalError('input.invalid', { operation: op, why: issuesText(result.error.issues) })
}

/** The length of a digest in characters, 132 bits: two different inputs never have the same digest by chance. */
const digestChars = 22

/**
 * Digests the caller's own input, without the daemon's additions: secrets made for a call, defaults of another version and looked-up names are not part of the
 * digest. Neither is `wait`: a caller who asks again waits for the rest of the time.
 */
export function inputDigest(operation: string, input: unknown): string {
  const { wait: _, ...said } = (input ?? {}) as Record<string, unknown>
  return hash('sha256', `${operation} ${canonical(said)}`, 'base64url').slice(0, digestChars)
}

/** Writes a value as text, with sorted keys, and each string as it is, after its length: quoting a message's body as JSON takes longer than digesting it. */
function canonical(value: unknown): string {
  if (typeof value === 'string') return `${value.length}:${value}`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const said = value as Record<string, unknown>
  let text = '{'
  for (const key of Object.keys(said).sort())
    if (said[key] !== undefined) text += `${canonical(key)} ${canonical(said[key])},`
  return `${text}}`
}
