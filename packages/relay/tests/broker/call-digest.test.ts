// A client that uses an id twice: the same call gets its answer again, another call is refused and never taken for stored.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestFromMessage, digestToStore, inputDigest, type StoredDecision } from '../../src/store/call-digest.ts'
import { CoreWorld } from '../core/core-world.ts'
import { HttpWorld, type Json } from '../wires/http-world.ts'

test('the digest covers the input in any order of its keys, but not how long the sender waits', () => {
  const digest = inputDigest('message.send', { to: 'bob', body: 'x', wait: { timeoutMs: 1_000 } })
  expect(inputDigest('message.send', { body: 'x', thread: undefined, to: 'bob' })).toBe(digest)
  expect(inputDigest('message.send', { to: ['bob'], body: 'x' })).not.toBe(digest)
  expect(inputDigest('message.send', { to: 'bob', body: 'x ' })).not.toBe(digest)
  expect(inputDigest('channel.create', { to: 'bob', body: 'x' })).not.toBe(digest)
  expect(inputDigest('action.invoke', { input: { a: [1, { b: 2, c: 3 }] } })).toBe(
    inputDigest('action.invoke', { input: { a: [1, { c: 3, b: 2 }] } }),
  )
  expect(inputDigest('x', { a: [12] })).not.toBe(inputDigest('x', { a: [1, 2] }))
  expect(inputDigest('x', null)).toBe(inputDigest('x', {}))
  expect(digest).toMatch(/^[\w-]{22}$/)
})

test('an MCP client that restarts its numbering within a session is refused, and no message seems sent that was not', async () => {
  const world = await HttpWorld.start()
  try {
    for (const name of ['Ada', 'Bob']) await world.token(name)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...world.as('Ada'),
    }
    const post = async (body: object, session: Record<string, string> = {}) => {
      const text = JSON.stringify({ jsonrpc: '2.0', ...body })
      return fetch(`${world.url}/mcp`, { method: 'POST', headers: { ...headers, ...session }, body: text })
    }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    const opened = await post({ id: 1, method: 'initialize', params })
    await opened.text()
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
    await (await post({ method: 'notifications/initialized' }, session)).text()
    const send = async (message: string): Promise<Json> => {
      const call = { name: 'relay_send', arguments: { to: 'Bob', message } }
      const answer = await (await post({ id: 2, method: 'tools/call', params: call }, session)).text()
      return JSON.parse(answer.slice(answer.indexOf('{'))).result
    }
    const first = await send('first')
    expect(first.isError).toBeFalsy()
    expect(await send('first')).toEqual(first)
    const other = await send('second')
    expect(other).toMatchObject({ isError: true })
    expect(other.content[0].text).toContain('was already used for another call (message.send)')
    const { body } = await world.api('inbox.peek', {}, world.as('Bob'))
    expect(body.messages.map((message: Json) => message.body)).toEqual(['first'])
  } finally {
    await world.stop()
  }
})

/** What is said in a send: texts of any characters but U+0000, which no schema lets through, and fields that a row does not keep. */
const said = fc.record(
  {
    to: fc.constantFrom<string | string[]>('bob', ['bob'], ['bob', 'cy'], '#general', '*'),
    body: fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !text.includes('\0')),
    kind: fc.constantFrom('free', 'question', undefined),
    thread: fc.constantFrom('plan', undefined),
    wait: fc.constant({ timeoutMs: 5 }),
    unknown: fc.constant(1),
  },
  { requiredKeys: ['to', 'body'] },
)

test('a plain send is stored without a digest; asked for its digest, the journal answers as if it had been made at once', () => {
  const world = new CoreWorld().cast('ada', 'bob', 'cy')
  const { journal, database } = world.store
  const kept = database.prepare('SELECT digest FROM journal WHERE seq = ?')
  let sends = 0
  const send = (input: { to: string | string[]; body: string; kind?: string | undefined }) => {
    const cause = `send ${sends++}`
    const digest = (stored?: StoredDecision) => digestToStore('message.send', input, stored as StoredDecision)
    const { to, body, kind } = input as { to: string; body: string; kind?: 'question' }
    world.give('message.send', 'ada', { to, body, kind }, undefined, { cause, digest })
    return { answer: journal.recordedAnswer('ada', cause), raw: kept.get(journal.lastSeq)?.[0] }
  }
  expect(send({ to: 'bob', body: 'plain' }).raw).toBe(digestFromMessage)
  expect(send({ to: '#general', body: 'plain', kind: 'question' }).raw).toBe(digestFromMessage)
  for (const other of [{ kind: 'free' }, { thread: 'plan' }, { unknown: 1 }, { to: ['bob'] }])
    expect(send({ to: 'bob', body: 'x', ...other }).raw).not.toBe(digestFromMessage)
  const everySend = fc.property(said, (input) => {
    const expected = inputDigest('message.send', input)
    expect(send(input).answer?.digest).toBe(expected)
    expect(journal.entriesAfter(journal.lastSeq - 1, 1)[0]?.digest).toBe(expected)
  })
  fc.assert(everySend, { numRuns: 200 })
})
