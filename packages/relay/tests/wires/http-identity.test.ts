// The agent that a request speaks for: keys, tokens, names in headers, workspaces, and the parts that an open relay ignores.

import { websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer, eras, HttpWorld, type Json, textOf } from './http-world.ts'

let world: HttpWorld
let ada: string
let bob: string
beforeAll(async () => {
  world = await HttpWorld.start({}, ['home', 'other'])
  ada = await world.token('Ada')
  bob = await world.token('Bob')
})
afterAll(() => world.stop())

describe('credentials', () => {
  const denied = [
    ['none', { authorization: '' }],
    ['an unknown key', bearer('rk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')],
    ['an unknown token', bearer('at_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')],
    ['another scheme', { authorization: 'Basic cms6eA==' }],
    ['a bare word', { authorization: 'rk_x' }],
  ] as const
  test.each(denied)('%s: 401 on every route, and always the same answer', async (_, headers) => {
    for (const path of ['/mcp', '/messages?sessionId=1', '/api/agent.list', '/api/daemon.stop', '/api/nothing']) {
      const { status, body } = await world.post(path, {}, headers)
      expect([path, status, body.error.code]).toEqual([path, 401, 'auth.required'])
    }
    const stream = await fetch(`${world.url}/sse`, { headers })
    expect([stream.status, stream.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    const login = await fetch(`${world.url}/.well-known/oauth-protected-resource`, { headers })
    expect(login.status).toBe(404)
  })

  test('an unknown workspace and a key of another one cannot be told apart', async () => {
    const wrong = await world.api('agent.list', {}, { 'x-relay-workspace': 'nowhere' })
    const other = await world.api('agent.list', {}, { 'x-relay-workspace': 'other' })
    expect(wrong).toEqual(other)
    expect(wrong.status).toBe(401)
  })

  test('a key opens its own workspace and no other', async () => {
    const status = async (headers: Record<string, string>) =>
      (await world.api('workspace.status', {}, headers)).body.workspace
    expect(await status({})).toBe('home')
    expect(await status(bearer(world.keys.get('other') as string))).toBe('other')
    expect(await status(bearer(ada))).toBe('home')
    // An address beyond the workspace is for the owner's socket.
    const abroad = await world.api('message.send', { to: 'other:Zoe', body: 'hi' }, bearer(ada))
    expect(abroad.status).toBe(403)
  })
})

describe('names', () => {
  test('a token acts as its own agent, whatever the header says', async () => {
    expect((await world.api('inbox.count', {}, bearer(ada))).status).toBe(200)
    expect((await world.api('inbox.count', {}, { ...bearer(ada), 'x-relay-agent': 'Ada' })).status).toBe(200)
    const forged = await world.api('inbox.count', {}, { ...bearer(ada), 'x-relay-agent': 'Bob' })
    expect([forged.status, forged.body.error.code]).toEqual([403, 'auth.denied'])
  })

  test('a forged `from` is ignored', async () => {
    await world.api('message.send', { to: 'Bob', body: 'from whom?', from: 'Zoe', by: 'Zoe' }, bearer(ada))
    const { body } = await world.api('inbox.peek', {}, bearer(bob))
    expect(body.messages.at(-1)).toMatchObject({ from: 'Ada', body: 'from whom?' })
  })

  test.each(eras)('another agent cannot speak through a header on %s', async (era) => {
    await expect(world.client(era, { ...bearer(ada), 'x-relay-agent': 'Bob' })).rejects.toThrow()
  })

  test('a token cannot register another name', async () => {
    const { status } = await world.api('agent.register', { name: 'Mallory' }, bearer(ada))
    expect(status).toBe(403)
    expect(
      (await world.api('agent.list', { includeOffline: true })).body.agents.map(({ name }: { name: string }) => name),
    ).not.toContain('Mallory')
  })

  test('a person needs the key', async () => {
    expect((await world.api('agent.register', { name: 'Pat', type: 'human' }, bearer(ada))).status).toBe(403)
    expect((await world.api('agent.register', { name: 'Pat', type: 'human' })).status).toBe(200)
    expect((await world.api('message.send', { to: 'Bob', body: 'I am Pat' }, world.as('Pat'))).status).toBe(200)
  })

  test('an invalid name is refused', async () => {
    const { status, body } = await world.api('inbox.count', {}, { 'x-relay-agent': 'no name' })
    expect([status, body.error.code]).toEqual([400, 'input.invalid'])
  })

  test('a call as an agent sees only what that agent sees, whether it shows the key or a token', async () => {
    await world.api('message.send', { to: 'Bob', body: 'between Cyd and Bob' }, world.as('Cyd'))
    for (const headers of [world.as('Ada'), bearer(ada)]) {
      const { events } = (await world.api('event.list', { types: ['message.created'] }, headers)).body
      expect(events.map(({ message }: Json) => message.body)).not.toContain('between Cyd and Bob')
      const found = await world.api('message.search', { text: 'between' }, headers)
      expect(found.body.messages).toEqual([])
    }
  })

  test('a call with the key and no name acts as the key holder, and is told to name an agent where one is needed', async () => {
    expect((await world.api('event.list', { types: ['message.created'] })).body.events.length).toBeGreaterThan(0)
    const { status, body } = await world.api('message.send', { to: 'Bob', body: 'x' })
    expect([status, body.error.code]).toEqual([403, 'agent.required'])
    expect(body.error.message).toContain('X-Relay-Agent')
  })
})

describe('an open relay', () => {
  let open: HttpWorld
  beforeAll(async () => {
    open = await HttpWorld.start({ isOpen: true }, ['home', 'other'])
  })
  afterAll(() => open.stop())
  const post = async (operation: string, input: unknown, headers: Record<string, string> = {}, query = '') => {
    const response = await fetch(`${open.url}/api/${operation}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(input),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }

  test('answers without a credential for the workspace it was started for, and for no other of this daemon', async () => {
    expect((await post('workspace.status', {})).body.workspace).toBe('home')
    expect((await post('workspace.status', {}, {}, '?workspace=home')).body.workspace).toBe('home')
    expect((await post('workspace.status', {}, {}, '?workspace=other')).status).toBe(401)
    expect((await post('workspace.status', {}, { 'x-relay-workspace': 'other' })).status).toBe(401)
    expect((await post('workspace.status', {}, {}, '?workspace=nowhere')).status).toBe(401)
    for (const era of ['2025', 'sse', '2026'] as const)
      await expect(open.client(era, {}, { query: 'workspace=other' })).rejects.toThrow()
    const connect = websocketConnector(open.url, { workspace: 'other' })
    await expect(connect({ name: 'Ada' })).rejects.toThrow()
  })

  test('still refuses a wrong credential', async () => {
    expect((await post('workspace.status', {}, bearer('rk_wrong'))).status).toBe(401)
  })

  test('a name in the header stays the same agent; a person is not taken at their word', async () => {
    expect((await post('message.send', { to: '*', body: 'one' }, { 'x-relay-agent': 'Solo' })).status).toBe(200)
    expect((await post('message.send', { to: '*', body: 'two' }, { 'x-relay-agent': 'Solo' })).status).toBe(200)
    const key = bearer(open.key)
    await post('agent.register', { name: 'Pat', type: 'human' }, key)
    expect((await post('inbox.count', {}, { 'x-relay-agent': 'Pat' })).status).toBe(403)
    const { agents } = (await post('agent.list', { includeOffline: true })).body
    expect(agents.map(({ name }: { name: string }) => name).sort()).toEqual(['Pat', 'Solo'])
  })

  test('a bare URL is enough for a client of each wire', async () => {
    expect(await textOf(await open.client('2025', {}), 'relay_status')).toContain('Agent Name: test-client\n')
    expect(await textOf(await open.client('sse', {}), 'relay_status')).toContain('Agent Name: test-client-2\n')
    expect(await textOf(await open.client('2026', {}), 'relay_status')).toContain('Not registered')
  })

  test.each(eras)('over %s the URL may name the workspace', async (era) => {
    const client = await open.client(era, { 'x-relay-agent': 'Roamer' }, { query: 'workspace=home' })
    expect(await textOf(client, 'relay_status')).toContain('Project: home\n')
  })

  test('is allowed on loopback only, and another address needs an option of its own', async () => {
    await expect(HttpWorld.start({ host: '0.0.0.0' })).rejects.toThrow('--allow-remote')
    await expect(HttpWorld.start({ host: '0.0.0.0', mayBeRemote: true, isOpen: true })).rejects.toThrow('--open')
  })
})
