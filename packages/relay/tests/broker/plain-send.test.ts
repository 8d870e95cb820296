// The quick look at a plain message, held against the schema that judges all messages.

import { limits, operations } from '@agent-relay/sdk/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPlainSend } from '../../src/broker/plain-send.ts'

const schema = operations['message.send'].input
const bytes = limits.bodyBytesMax
/** Texts at the edges of every limit, and of every kind of character. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'Bob', '#build', '*', 'a\0b', '\ud800', 'x'.repeat(limits.addressCharsMax)),
  fc.constantFrom('x'.repeat(limits.addressCharsMax + 1), 'x'.repeat(bytes), 'x'.repeat(bytes + 1)),
  fc.constantFrom('é'.repeat(bytes / 2), 'é'.repeat(bytes / 2 + 1), '€'.repeat(bytes / 3), '€'.repeat(bytes / 3 + 1)),
)
const value = fc.oneof({ weight: 6, arbitrary: text }, fc.constantFrom(undefined, null, 1, true, {}, ['Bob']))
const usual = fc.record({ to: value, body: value })
const more = fc.record(
  { to: text, body: text, thread: value, kind: value, create: value, wait: value },
  { requiredKeys: [] },
)
const strange = fc.constantFrom<unknown>(
  undefined,
  null,
  'text',
  [],
  Object.assign([], { to: 'Bob', body: 'x' }),
  Object.assign(Object.create({ kind: 'question' }), { to: 'Bob', body: 'x' }),
  JSON.parse('{"to":"Bob","body":"x","__proto__":{"kind":"question"}}'),
)

test('what it accepts, the schema reads the same', () => {
  let accepted = 0
  const same = fc.property(fc.oneof({ weight: 6, arbitrary: usual }, more, strange), (input) => {
    const plain = readPlainSend(input)
    if (plain === undefined) return
    accepted++
    const { success, data } = schema.safeParse(input)
    expect(success).toBe(true)
    expect(Object.entries(plain)).toEqual(Object.entries(data as object))
  })
  fc.assert(same, { numRuns: 2_000 })
  expect(accepted).toBeGreaterThan(100)
})

test('it accepts the messages that are sent most, up to the limits', () => {
  for (const body of ['x', 'x'.repeat(bytes), '€'.repeat(Math.floor(bytes / 3))])
    expect(readPlainSend({ to: 'Bob', body })).toEqual({ to: 'Bob', body })
})
