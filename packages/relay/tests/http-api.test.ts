// The operations table over `POST /api/<operation>`: each one is reached, refusals become statuses, and a repeat runs once.

import { setTimeout as sleep } from 'node:timers/promises'
import { type OperationName, operations, refusals } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HttpWorld, rawStatus, until } from './http-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start({ apiLimits: { idleMs: 200, sessionsMax: 50 } })
  await world.token('Ada')
  await world.token('Bob')
})
afterAll(() => world.stop())

/** An input that each operation takes, about a message or an invocation; the rest take none. */
const inputs: Partial<Record<OperationName, (id: string) => object>> = {
  'agent.register': () => ({ name: 'Ada', model: 'a model' }),
  'agent.revoke': () => ({ name: 'Bob' }),
  'workspace.set-policy': () => ({ writers: [] }),
  'channel.create': () => ({ channel: '#made' }),
  'channel.join': () => ({ channel: '#build' }),
  'channel.leave': () => ({ channel: '#build' }),
  'message.send': () => ({ to: 'Bob', body: 'hello' }),
  'message.react': (message) => ({ message, emoji: '+1' }),
  'message.thread': (message) => ({ thread: message }),
  'message.search': () => ({ text: 'hello' }),
  'message.receipts': (message) => ({ message }),
  'message.list': (message) => ({ around: message }),
  'agent.mail': () => ({ agent: 'Ada', box: 'inbox' }),
  'action.register': () => offered,
  'action.withdraw': () => ({ name: offered.name }),
  'action.invoke': () => ({ name: 'no.such', input: {} }),
  'action.result': (invocation) => ({ invocation }),
  'action.answer': (invocation) => ({ invocation, output: 1 }),
  'run.start': () => ({ contract: 'Do it.', harness: 'external' }),
  'run.status': (run) => ({ runs: [run] }),
  'run.complete': (run) => ({ run, summary: 'Done.' }),
  'run.stop': (run) => ({ run }),
  'run.contract': (run) => ({ run }),
  'run.payload': (run) => ({ run }),
  'worker.spawn': () => ({ name: 'Hand', cli: 'plain', command: ['cat'] }),
  'worker.pause': (name) => ({ name }),
  'worker.resume': (name) => ({ name }),
  'worker.screen': (name) => ({ name }),
  'worker.type': (name) => ({ name, data: 'x' }),
  'worker.resize': (name) => ({ name, cols: 80, rows: 24 }),
  'worker.release': (name) => ({ name }),
  'inbox.read': () => ({ messages: [] }),
  'inbox.offer': (message) => ({ messages: [message], route: 'hook' }),
}

const offered = { name: 'a.b', description: 'An action', inputSchema: {} }
const offer = () => world.api('action.register', offered, world.as('Ada'))

const begin = async () =>
  (await world.api('run.start', { contract: 'x', harness: 'external' }, world.as('Ada'))).body.id as string

let hands = 0
const hire = async () => {
  const name = `Hand-${++hands}`
  await world.api('worker.spawn', { name, cli: 'plain', command: ['cat'] }, world.as('Ada'))
  return name
}

/** What has to be there before; the id it answers is the one that the input names. */
const before: Partial<Record<OperationName, () => Promise<string | undefined>>> = {
  'action.withdraw': async () => void (await offer()),
  'action.result': async () =>
    (await world.api('action.invoke', { name: 'no.such', input: {} }, world.as('Ada'))).body.invocationId,
  'worker.pause': hire,
  'worker.resume': hire,
  'worker.screen': hire,
  'worker.type': hire,
  'worker.resize': hire,
  'worker.release': hire,
  'run.status': begin,
  'run.complete': begin,
  'run.stop': begin,
  'run.contract': begin,
  'run.payload': async () => {
    const run = await begin()
    await world.api('run.complete', { run, summary: '', payload: 'text' }, world.as('Ada'))
    return run
  },
  'action.answer': async () => {
    await offer()
    void world.api('action.invoke', { name: 'a.b', input: {} }, world.as('Bob'))
    const last = async () =>
      (await world.api('event.list', { types: ['action.invoked'] })).body.events.at(-1)?.fact as
        | { id: string; action: string }
        | undefined
    await until(async () => (await last())?.action === 'a.b')
    return (await last())?.id
  },
}

describe('every operation', () => {
  const names = Object.keys(operations) as OperationName[]
  const isCall = (name: OperationName) => operations[name].kind !== 'watch' && operations[name].who !== 'owner'

  test.each(names.filter(isCall))('%s answers in its own shape', async (name) => {
    const { id } = (await world.api('message.send', { to: 'Ada', body: 'hello, look' }, world.as('Bob'))).body
    const isHolders = (operations[name] as { who: string }).who === 'holder'
    const named = (await before[name]?.()) ?? id
    const { status, body } = await world.api(name, inputs[name]?.(named) ?? {}, isHolders ? {} : world.as('Ada'))
    expect([status, body.error?.details]).toEqual([200, undefined])
    expect(operations[name].output.safeParse(body).error).toBeUndefined()
  })

  test.each(names.filter((name) => !isCall(name)))('%s is not for this door', async (name) => {
    const { status, body } = await world.api(name, {}, world.as('Ada'))
    expect([status, body.error.code]).toEqual([404, 'operation.unknown'])
  })
})

describe('refusals', () => {
  test('carry code, message and details, with the status of the table', async () => {
    const { status, body } = await world.api('message.send', { to: 'Bop', body: 'x' }, world.as('Ada'))
    expect(status).toBe(refusals['agent.unknown'].http)
    expect(body.error).toMatchObject({ code: 'agent.unknown', details: { name: 'Bop' } })
    expect(body.error.message).toContain('Did you mean Bob?')
  })

  test.each([
    ['a missing field', '{"to":"Bob"}', 400, /body/],
    ['a wrong type', '{"to":"Bob","body":7}', 400, /body/],
    ['no JSON', '{"to":', 400, /not valid JSON/],
    ['a body of 300 KiB', JSON.stringify({ to: 'Bob', body: 'x'.repeat(300 * 1024) }), 400, /256 KiB/],
    ['a request over 1 MiB', JSON.stringify({ to: 'Bob', body: 'x'.repeat(1024 * 1024) }), 413, /1048576/],
  ])('%s', async (_, text, status, why) => {
    const answer = await world.api('message.send', text, world.as('Ada'))
    expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringMatching(why)])
  })

  test('a body that comes in pieces is read, and one that only grows while it comes is cut off', async () => {
    const chunk = 'x'.repeat(64 * 1024)
    const head = `POST /api/message.send HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\nAuthorization: Bearer ${world.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunks = Array(20)
      .fill(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join('')
    expect(await rawStatus(world.port, `${head}${chunks}0\r\n\r\n`)).toBe(413)
    const whole = JSON.stringify({ to: 'Ada', body: 'in one piece' })
    expect(await rawStatus(world.port, `${head}${whole.length.toString(16)}\r\n${whole}\r\n0\r\n\r\n`)).toBe(403)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', ''])(
    'content type "%s": 415',
    async (type) => {
      const answer = await world.api('agent.list', {}, { 'content-type': type })
      expect([answer.status, answer.body.error.code]).toEqual([415, 'media.unsupported'])
    },
  )

  test('another path: 404', async () => {
    expect((await world.post('/api', {})).status).toBe(404)
    const { status, body } = await world.post('/api/message.send/x', {})
    expect([status, body.error.message]).toEqual([404, expect.stringContaining('/mcp')])
  })

  test.each([
    ['PUT', '/mcp', 'GET, POST, DELETE'],
    ['POST', '/sse', 'GET'],
    ['GET', '/messages', 'POST'],
    ['GET', '/api/agent.list', 'POST'],
    ['PATCH', '/api/agents', 'GET, POST'],
    ['PUT', '/api/agents/run_1', 'GET'],
    ['GET', '/api/agents/run_1/stop', 'POST'],
    ['PUT', '/session', 'GET, POST, DELETE'],
  ])('another method, %s %s: 405 with those that it takes', async (method, path, allowed) => {
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${world.url}${path}`, { method, headers })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed])
    expect(await answer.json()).toMatchObject({ error: { code: 'method.unsupported' } })
  })

  test('a prototype is not touched', async () => {
    await world.api('message.send', '{"__proto__":{"polluted":1},"to":"Bob","body":"x"}', world.as('Ada'))
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

test('the same call id runs once and is answered twice', async () => {
  const send = () =>
    world.api('message.send', { to: 'Bob', body: 'once' }, { ...world.as('Ada'), 'x-relay-call-id': 'my-call-1' })
  const [first, second] = [await send(), await send()]
  expect(second.body.id).toBe(first.body.id)
  const bad = await world.api('agent.list', {}, { 'x-relay-call-id': 'x'.repeat(201) })
  expect(bad.status).toBe(400)
})

test('what was taken is read at the next call with that identity, and handed out again after silence', async () => {
  await world.api('inbox.take', { limit: 500 }, world.as('Ada'))
  await world.api('inbox.count', {}, world.as('Ada'))
  await world.api('message.send', { to: 'Ada', body: 'first' }, world.as('Bob'))
  const take = async () =>
    (await world.api('inbox.take', {}, world.as('Ada'))).body.messages.map((m: { body: string }) => m.body)
  expect(await take()).toEqual(['first'])
  expect(await take()).toEqual([])
  await world.api('message.send', { to: 'Ada', body: 'second' }, world.as('Bob'))
  expect(await take()).toEqual(['second'])
  const status = async () =>
    (await world.api('agent.list', { includeOffline: true })).body.agents.find(
      (a: { name: string }) => a.name === 'Ada',
    ).status
  expect(await status()).toBe('active')
  await until(async () => (await status()) === 'offline')
  expect(await take()).toEqual(['second'])
})

test('a wait ends with the reply, or when its caller hangs up', async () => {
  const waiting = world.api('message.send', { to: 'Bob', body: 'well?', wait: {} }, world.as('Ada'))
  await until(async () =>
    (await world.api('inbox.peek', { limit: 500 }, world.as('Bob'))).body.messages.some(
      (m: { body: string }) => m.body === 'well?',
    ),
  )
  await world.api('message.send', { to: 'Ada', body: 'well!' }, world.as('Bob'))
  expect((await waiting).body.reply.body).toBe('well!')
  const hangUp = new AbortController()
  const given = fetch(`${world.url}/api/message.send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...world.as('Ada') },
    body: JSON.stringify({ to: 'Bob', body: 'hello?', wait: { timeoutMs: 60_000 } }),
    signal: hangUp.signal,
  })
  const waitsFor = async () =>
    (await world.api('agent.list', {})).body.agents.find((a: { name: string }) => a.name === 'Ada')?.waitingFor?.agent
  await until(async () => (await waitsFor()) === 'Bob')
  hangUp.abort()
  await expect(given).rejects.toThrow()
  await until(async () => (await waitsFor()) === undefined)
  await sleep(10)
  expect(world.troubles).toEqual([])
})
