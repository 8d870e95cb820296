// Recognises a plain message, `{to, body}`, the most frequent input, without its schema, which would take longer. Refuses nothing: any other input goes to the
// schema.

import { isWithinBytes, limits, type ParsedInputOf } from '@agent-relay/sdk/protocol'

/** Returns the input as its schema would read it; undefined if the schema has to look at it. */
export function readPlainSend(input: unknown): ParsedInputOf<'message.send'> | undefined {
  if (typeof input !== 'object' || input === null || Object.getPrototypeOf(input) !== Object.prototype) return undefined
  for (const key in input) if (key !== 'to' && key !== 'body') return undefined
  const { to, body } = input as Record<string, unknown>
  if (typeof to !== 'string' || to === '' || to.length > limits.addressCharsMax) return undefined
  if (typeof body !== 'string' || body === '' || body.includes('\0')) return undefined
  return isWithinBytes(body, limits.bodyBytesMax) ? { to, body } : undefined
}
