// The operations table over `POST /api/<operation>`: each one is reached, refusals become statuses, and a repeat runs once.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OperationName, operations, refusals } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { aWhile, until } from '../../../../test/until.ts'
import { acpAgent } from '../supervisor/worker-world.ts'
import { makeRepository } from '../work/repository-world.ts'
import { HttpWorld, rawStatus } from './http-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start()
  await world.token('Ada')
  await world.token('Bob')
})
afterAll(() => world.stop())

/** An input that each operation takes, about a message or an invocation; the rest take none. */
const inputs: Partial<Record<OperationName, (id: string) => object>> = {
  'agent.register': () => ({ name: 'Ada', model: 'a model' }),
  'agent.brief': () => ({ after: 'clear' }),
  'agent.revoke': () => ({ name: 'Bob' }),
  'agent.retire': () => ({ name: 'Gone' }),
  'workspace.set-policy': () => ({ writers: [] }),
  'channel.create': () => ({ channel: '#made' }),
  'channel.join': () => ({ channel: '#build', create: true }),
  'channel.leave': () => ({ channel: '#build' }),
  'channel.remove': () => ({ channel: '#made' }),
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
  'worker.spawn': () => ({ name: 'Hand', cli: 'plain', command: ['cat'], cwd: '/' }),
  'worker.retry': (name) => ({ name }),
  'worker.pause': (name) => ({ name }),
  'worker.resume': (name) => ({ name }),
  'worker.interrupt': (name) => ({ name }),
  'worker.diff': (name) => ({ name }),
  'worker.screen': (name) => ({ name }),
  'worker.type': (name) => ({ name, data: 'x' }),
  'worker.resize': (name) => ({ name, cols: 80, rows: 24 }),
  'worker.release': (name) => ({ name }),
  'claim.edit': (cwd) => ({ cwd, files: ['a.txt'] }),
  'claim.add': (cwd) => ({ cwd, files: ['a.txt'] }),
  'claim.drop': (cwd) => ({ cwd, files: ['a.txt'] }),
  'agent.show': () => ({ state: 'busy' }),
  'approval.settle': (key) => ({ key, how: 'cancelled' }),
  'message.queue': () => ({ to: 'Bob', body: 'queued' }),
  'outbox.drop': (id) => ({ id }),
  'need.dismiss': () => ({ key: 'told:@Ada,Bob' }),
  'notice.ask': () => ({ agent: 'Bob', when: 'idle' }),
  'notice.drop': () => ({ agent: 'Bob' }),
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
  await world.api('worker.spawn', { name, cli: 'plain', command: ['cat'], cwd: '/' }, world.as('Ada'))
  return name
}

/** A worker in a turn that does not end by itself. */
const hireBusy = async () => {
  const name = `Hand-${++hands}`
  const command = [process.execPath, acpAgent, '--log', '/dev/null']
  const wish = { name, cli: 'acp', command, cwd: '/', task: 'hang' }
  await world.api('worker.spawn', wish, world.as('Ada'))
  const { workspace } = await world.daemon.open('home')
  await until(() => workspace.workers.terminalOf(name)?.turn() === 'under way')
  return name
}

const repository = () => {
  const cwd = mkdtempSync(join(tmpdir(), 'relay-http-repository-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  makeRepository(cwd)
  return cwd
}

/** A checkout in which somebody has claimed a file. */
const claimedBy = (agent: string) => async () => {
  const cwd = repository()
  await world.api('claim.add', { cwd, files: ['a.txt'] }, world.as(agent))
  return cwd
}

const hireInWorktree = async () => {
  const cwd = repository()
  const hand = { name: `Hand-${++hands}`, cli: 'plain', command: ['cat'], cwd, worktree: true }
  const { body } = await world.api('worker.spawn', hand, world.as('Ada'))
  return { name: hand.name, path: body.worker.worktree.path as string }
}

/** What has to be there before; the id it answers is the one that the input names. */
const before: Partial<Record<OperationName, () => Promise<string | undefined>>> = {
  'agent.retire': async () => void (await world.token('Gone')),
  'action.withdraw': async () => void (await offer()),
  'action.result': async () =>
    (await world.api('action.invoke', { name: 'no.such', input: {} }, world.as('Ada'))).body.invocationId,
  'worker.retry': async () => {
    const name = `Hand-${++hands}`
    await world.api('worker.spawn', { name, cli: 'plain', command: ['cat'], cwd: '/', task: 'Once' }, world.as('Ada'))
    await world.api('worker.release', { name }, world.as('Ada'))
    return name
  },
  'worker.pause': hire,
  'worker.resume': async () => {
    const name = await hire()
    await world.api('worker.pause', { name }, world.as('Ada'))
    return name
  },
  'worker.interrupt': hireBusy,
  'worker.diff': async () => (await hireInWorktree()).name,
  'worker.sweep': async () => {
    const { name, path } = await hireInWorktree()
    const file = join(path, 'new.txt')
    writeFileSync(file, 'work')
    await world.api('worker.release', { name }, world.as('Ada'))
    rmSync(file)
    return name
  },
  'claim.edit': claimedBy('Bob'),
  'outbox.drop': async () => {
    const { store } = (await world.daemon.open('home')).workspace
    const cause = `queued ${++hands}`
    const row = { id: `q_${hands}`, at: 0, by: 'Ada', cause, input: '{"to":"Bob","body":"x"}' }
    return store.transact(() => store.outbox.put(row)).id
  },
  'claim.add': async () => repository(),
  'claim.drop': claimedBy('Ada'),
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
    const calls = async () => {
      const { body } = await world.api('event.list', { types: ['action.invoked'] })
      return (body.events as { fact: { id: string; action: string } }[]).filter(({ fact }) => fact.action === 'a.b')
    }
    const former = (await calls()).length
    void world.api('action.invoke', { name: 'a.b', input: {} }, world.as('Bob'))
    await until(async () => (await calls()).length > former)
    return (await calls()).at(-1)?.fact.id
  },
}

describe('every operation', () => {
  const names = Object.keys(operations) as OperationName[]
  const isCall = (name: OperationName) => operations[name].kind !== 'watch' && operations[name].who !== 'owner'
  /** Nobody over REST is a person, and nobody waits there for one: see broker/approvals/approvals.test.ts. */
  const isForAll = (name: OperationName) =>
    isCall(name) && !['approval.answer', 'approval.ask', 'approval.show'].includes(name)

  test.each(names.filter(isForAll))('%s answers in its own shape', async (name) => {
    const { id } = (await world.api('message.send', { to: 'Ada', body: 'hello, look' }, world.as('Bob'))).body
    const isHolders = (operations[name] as { who: string }).who === 'holder'
    const named = (await before[name]?.()) ?? id
    const { status, body } = await world.api(name, inputs[name]?.(named) ?? {}, isHolders ? {} : world.as('Ada'))
    expect([status, body.error?.details]).toEqual([200, undefined])
    expect(operations[name].output.safeParse(body).error).toBeUndefined()
  })

  test.each(names.filter((name) => !isCall(name)))('%s is refused over REST', async (name) => {
    const { status, body } = await world.api(name, {}, world.as('Ada'))
    expect([status, body.error.code]).toEqual([404, 'operation.unknown'])
  })
})

test('an approval that a request waits for is closed by that request alone', async () => {
  const workspace = (await world.daemon.open('home')).workspace
  const open = () => workspace.store.view.approvals.of('Ada')
  const asked = {
    key: 'k',
    vendor: 'claude',
    tool: 'Bash',
    input: 'rm -rf ~',
    choices: [{ id: 'allow', kind: 'allow' }],
  }
  const leaving = new AbortController()
  const headers = { 'content-type': 'application/json', ...world.as('Ada') }
  const ask = (signal?: AbortSignal) =>
    fetch(`${world.url}/api/approval.ask`, { method: 'POST', headers, body: JSON.stringify(asked), signal })
  const over = ask(leaving.signal).catch(() => 'left')
  await until(() => open().length === 1)
  const [{ id } = { id: '' }] = open()
  for (const how of ['terminal', 'timeout', 'cancelled'])
    expect((await world.api('approval.settle', { key: 'k', how, kind: 'allow' }, world.as('Ada'))).body).toEqual({})
  // Another that calls its own by the same key takes nobody's place.
  const other = new AbortController()
  const second = ask(other.signal).catch(() => 'left')
  await until(() => open().length === 2)
  other.abort()
  expect(await second).toBe('left')
  await until(() => open().length === 1)
  expect(workspace.store.view.approvals.byId(id)?.closed).toBeUndefined()
  leaving.abort()
  expect(await over).toBe('left')
  await until(() => open().length === 0)
  expect(workspace.store.view.approvals.byId(id)?.closed).toMatchObject({ how: 'gone' })
})

describe('a call id that was used', () => {
  /**
   * Registering never takes the caller's id; what is typed is not stored, so nothing could be answered twice; and an agent that was briefed a
   * moment ago, as it was above, is not briefed again. Nobody over REST answers an approval. A send that was dropped is gone; what an agent
   * says that it does is kept nowhere.
   */
  const unrecorded = [
    'agent.register',
    'worker.type',
    'worker.resize',
    'agent.brief',
    'approval.answer',
    'approval.ask',
    'approval.settle',
    'outbox.drop',
    'agent.show',
  ]
  const others: Partial<Record<OperationName, (id: string) => object>> = {
    'inbox.read': (message) => ({ messages: [message] }),
    'workspace.set-policy': () => ({ writers: ['elsewhere'] }),
    'channel.create': () => ({ channel: '#made-again' }),
    'channel.join': () => ({ channel: '#entered', create: true }),
    'channel.leave': () => ({ channel: '#entered' }),
    'channel.remove': () => ({ channel: '#made-again' }),
    'worker.spawn': () => ({ name: 'Twice', cli: 'plain', command: ['cat'], cwd: '/' }),
  }
  const isCommand = (name: OperationName) =>
    operations[name].kind === 'command' && operations[name].who !== 'owner' && !unrecorded.includes(name)

  test.each((Object.keys(operations) as OperationName[]).filter(isCommand))('names that %s alone', async (name) => {
    const { id } = (await world.api('message.send', { to: 'Ada', body: 'look here' }, world.as('Bob'))).body
    const isHolders = (operations[name] as { who: string }).who === 'holder'
    const named = (await before[name]?.()) ?? id
    const input = (others[name] ?? inputs[name])?.(named) ?? {}
    const headers = {
      ...(isHolders ? {} : world.as('Ada')),
      'x-relay-call-id': `used for ${name}`.replaceAll(' ', '-'),
    }
    expect((await world.api(name, input, headers)).status).toBe(200)
    // An input that fits the operation and says something else.
    const { status, body } = await world.api(name, { ...input, other: 'words' }, headers)
    expect([status, body.error]).toEqual([409, expect.objectContaining({ code: 'call.reused' })])
    expect(body.error.message).toContain(headers['x-relay-call-id'])
    expect((await world.api(name, input, headers)).status).toBe(200)
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

  test('input with __proto__ does not change a prototype', async () => {
    await world.api('message.send', '{"__proto__":{"polluted":1},"to":"Bob","body":"x"}', world.as('Ada'))
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

test('the same call id runs once and is answered twice', async () => {
  const send = () =>
    world.api('message.send', { to: 'Bob', body: 'once' }, { ...world.as('Ada'), 'x-relay-call-id': 'my-call-1' })
  const [first, second] = [await send(), await send()]
  expect(second.body.id).toBe(first.body.id)
  const text = '{"body":"once","to":"Bob"}'
  const turned = await world.api('message.send', text, { ...world.as('Ada'), 'x-relay-call-id': 'my-call-1' })
  expect(turned.body.id).toBe(first.body.id)
  const bad = await world.api('agent.list', {}, { 'x-relay-call-id': 'x'.repeat(201) })
  expect(bad.status).toBe(400)
})

describe('messages that were taken', () => {
  // A world of its own: an agent that counts as gone so soon would withdraw what it offers in the middle of another test.
  const begin = async (...http: Parameters<typeof HttpWorld.start>) => {
    const own = await HttpWorld.start(...http)
    onTestFinished(() => own.stop())
    for (const name of ['Ada', 'Bob']) await own.token(name)
    return {
      send: (body: string) => own.api('message.send', { to: 'Ada', body }, own.as('Bob')),
      take: async () =>
        (await own.api('inbox.take', {}, own.as('Ada'))).body.messages.map((m: { body: string }) => m.body),
      status: async () =>
        (await own.api('agent.list', { includeOffline: true })).body.agents.find(
          (a: { name: string }) => a.name === 'Ada',
        ).status,
    }
  }

  test('count as read at the next call of that agent', async () => {
    const { send, take, status } = await begin()
    expect(await take()).toEqual([])
    await send('first')
    expect(await take()).toEqual(['first'])
    expect(await take()).toEqual([])
    expect(await status()).toBe('active')
  })

  test('come again if it stays silent', async () => {
    const { send, take, status } = await begin({ apiLimits: { idleMs: 1_000, sessionsMax: 50 } })
    await send('second')
    expect(await take()).toEqual(['second'])
    await until(async () => (await status()) === 'offline')
    expect(await take()).toEqual(['second'])
  })
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
  await aWhile()
  expect(world.troubles).toEqual([])
})

test('a caller for whom there is no room leaves no session behind', async () => {
  const small = await HttpWorld.start({ apiLimits: { idleMs: 60_000, sessionsMax: 1 } })
  onTestFinished(() => small.stop())
  for (const name of ['Ada', 'Bob']) await small.token(name)
  const { sessions } = (await small.daemon.open('home')).workspace
  const waits = new AbortController()
  const waiting = fetch(`${small.url}/api/inbox.take`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${small.key}`, 'x-relay-agent': 'Ada' },
    body: JSON.stringify({ wait: 600_000 }),
    signal: waits.signal,
  }).catch(() => {})
  await until(() => sessions.isLive('Ada'))
  const refused = await small.api('inbox.count', {}, { 'x-relay-agent': 'Bob' })
  expect(refused).toMatchObject({
    status: 500,
    body: { error: { message: expect.stringContaining('too many callers') } },
  })
  await until(() => !sessions.isLive('Bob'))
  waits.abort()
  await waiting
  expect((await small.api('inbox.count', {}, { 'x-relay-agent': 'Bob' })).status).toBe(200)
})
