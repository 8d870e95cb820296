// The power of one workspace's key over another workspace: none, by any operation, on any wire, except to write there if its policy allows it.

import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type CallName, type OperationName, operations, type WatchName } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bearer, HttpWorld } from '../wires/http-world.ts'

const id = makeIds()
let world: HttpWorld
let away: string
beforeAll(async () => {
  world = await HttpWorld.start({}, ['home', 'away', 'shut'])
  away = world.keys.get('away') as string
  await world.api('agent.register', { name: 'Zoe' }, bearer(away))
})
afterAll(() => world.stop())
const names = Object.keys(operations) as OperationName[]

/** What `home`'s key does with each operation of `away`; nothing of it may reach that workspace. */
describe('a key of one workspace on every operation of another', () => {
  const lastSeq = async () => (await world.api('workspace.status', {}, bearer(away))).body.seq
  let before: number
  beforeEach(async () => {
    before = await lastSeq()
  })

  test('is refused on the socket', async () => {
    const open = socketConnector(socketPathOf(world.dir, 'away'))
    for (const hello of [{ key: world.key }, { key: world.key, name: 'Zoe' }, { token: world.key, name: 'Zoe' }])
      await expect(open(hello)).rejects.toMatchObject({ code: 'auth.denied' })
    expect(await lastSeq()).toBe(before)
  })

  test('is refused over WebSocket, whatever the address says', async () => {
    for (const hello of [{ key: world.key }, { token: world.key, name: 'Zoe' }, { key: world.key, token: away }])
      await expect(websocketConnector(world.url, { workspace: 'away' })(hello)).rejects.toMatchObject({
        code: 'auth.required',
      })
    expect(await lastSeq()).toBe(before)
  })

  test.each(names)('%s: the same refusal by POST /api, however the workspace is named', async (operation) => {
    const headers = { ...bearer(world.key), 'x-relay-agent': 'Zoe' }
    const named = await world.api(operation, {}, { ...headers, 'x-relay-workspace': 'away' })
    const asked = await world.post(`/api/${operation}?workspace=away`, {}, headers)
    const nowhere = await world.api(operation, {}, { ...headers, 'x-relay-workspace': 'nowhere' })
    expect([named.status, named.body.error.code]).toEqual([401, 'auth.required'])
    expect([asked, nowhere]).toEqual([named, named])
    expect(await lastSeq()).toBe(before)
  })

  test.each(names)('%s: a session of its own workspace is not led over by its input', async (operation) => {
    const input = { workspace: 'away', project: 'away', name: 'Zoe', key: away, to: 'away:Zoe', body: 'x' }
    const links: Link[] = [
      await socketConnector(socketPathOf(world.dir, 'home'))({ key: world.key }),
      await websocketConnector(world.url)({ key: world.key }),
      await websocketConnector(world.url)({ key: world.key, name: 'Prober' }),
    ]
    for (const link of links) {
      if (operations[operation].kind === 'watch') {
        const sink = { item: () => {}, end: () => {} }
        await link.watch(operation as WatchName, input as never, id('w'), sink).catch(() => {})
      } else await link.call(operation as CallName, input as never, id('c')).catch(() => {})
      await link.close()
    }
    expect(await lastSeq()).toBe(before)
  })
})

describe('who may write to another workspace', () => {
  const send = async (to: string, headers: Record<string, string>) =>
    (await world.api('message.send', { to, body: `to ${to}` }, headers)).body
  const allow = (writers: string[] | '*') => world.api('workspace.set-policy', { writers }, bearer(away))
  const inbox = async () => {
    const { messages } = (await world.api('inbox.peek', {}, { ...bearer(away), 'x-relay-agent': 'Zoe' })).body
    return messages.map(({ from, body }: { from: string; body: string }) => `${from}: ${body}`)
  }
  beforeAll(() => world.token('Ann'))

  test('over the network nobody may at first, and an unknown workspace gets the same answer', async () => {
    const refused = await send('away:Zoe', world.as('Ann'))
    expect(refused.error.code).toBe('auth.denied')
    const unknown = await send('gone:Zoe', world.as('Ann'))
    expect(unknown.error.message).toBe(refused.error.message.replaceAll('away', 'gone'))
  })

  test('a session with the key of a listed workspace may, one with a token may not', async () => {
    await allow(['other', 'home'])
    expect(await send('away:Zoe', world.as('Ann'))).toMatchObject({ to: 'away:Zoe', away: ['away:Zoe'] })
    expect(await inbox()).toEqual(['home:Ann: to away:Zoe'])
    const token = await world.token('Tok')
    expect((await send('away:Zoe', bearer(token))).error.code).toBe('auth.denied')
    const link = await websocketConnector(world.url)({ name: 'Web', key: world.key })
    const { id: sent } = await link.call('message.send', { to: 'away:lead', body: 'to the lead' }, id('c'))
    expect((await link.call('message.receipts', { message: sent }, id('c'))).receipts).toMatchObject([
      { agent: 'away:Zoe', state: 'stored' },
    ])
    await link.close()
    expect((await inbox()).at(-1)).toBe('home:Web: to the lead')
  })

  test('`*:*` reaches the workspaces that allow it and does not reveal the others', async () => {
    await allow('*')
    const sent = await send('*:*', world.as('Ann'))
    expect([sent.to, sent.failed]).toEqual(['*:*', undefined])
    expect((await inbox()).at(-1)).toBe('home:Ann: to *:*')
    const shut = { ...bearer(world.keys.get('shut') as string), 'x-relay-agent': 'Sam' }
    expect((await world.api('inbox.peek', {}, shut)).body.messages).toEqual([])
    await allow([])
    expect((await send('away:Zoe', world.as('Ann'))).error.code).toBe('auth.denied')
  })

  test('of who is connected to another workspace only those are told who may write there', async () => {
    const link = await websocketConnector(world.url)({ name: 'Zoe', key: away })
    const told = async (headers: Record<string, string>) => (await world.api('agent.list', {}, headers)).body.abroad
    const key = bearer(world.keys.get('shut') as string)
    const { token } = (await world.api('agent.register', { name: 'Sam' }, key)).body
    const asked = async () => [await told({ ...key, 'x-relay-agent': 'Sam' }), await told(bearer(token))]
    await allow(['shut'])
    expect(await asked()).toEqual([['away:Zoe'], undefined])
    await allow([])
    expect(await asked()).toEqual([undefined, undefined])
    await link.close()
  })

  test('of a name that is in another workspace only those are told who may write there', async () => {
    const text = async (headers: Record<string, string>) => (await send('Uma', headers)).error.message
    const told = 'Uma is in away: send to "away:Uma".'
    await world.api('agent.register', { name: 'Uma' }, bearer(away))
    await allow(['home'])
    expect(await text(world.as('Ann'))).toContain(told)
    const token = bearer(await world.token('Tok'))
    expect(await text(token)).toBe((await send('Zed', token)).error.message.replace('Zed', 'Uma'))
    await allow([])
    expect(await text(world.as('Ann'))).not.toContain('away')
    const link = await socketConnector(socketPathOf(world.dir, 'home'))({ name: 'Local' })
    await expect(link.call('message.send', { to: 'Uma', body: 'x' }, id('c'))).rejects.toThrow(told)
    await link.close()
  })

  test('the owner’s socket needs no policy', async () => {
    const link = await socketConnector(socketPathOf(world.dir, 'home'))({ name: 'Local' })
    expect(await link.call('message.send', { to: 'away:Zoe', body: 'hi' }, id('c'))).toMatchObject({ to: 'away:Zoe' })
    await link.close()
  })
})

describe('the policy itself', () => {
  test('every agent may read it, the key holder changes it, and a change is an event', async () => {
    const token = await world.token('Reader')
    expect((await world.api('workspace.policy', {}, bearer(token))).body).toEqual({
      terminal: {},
      writers: [],
      spawn: 'none',
      worktree: false,
      claims: 'deny',
      approve: [],
    })
    expect((await world.api('workspace.set-policy', { writers: '*' }, bearer(token))).status).toBe(403)
    const terminal = { Lead: ['*'], Reader: ['Ann'] }
    const set = await world.api('workspace.set-policy', { terminal })
    expect(set.body).toEqual({ terminal, writers: [], spawn: 'none', worktree: false, claims: 'deny', approve: [] })
    expect((await world.api('workspace.set-policy', { terminal })).body).toEqual(set.body)
    const { events } = (await world.api('event.list', { types: ['workspace.*'] }, bearer(token))).body
    expect(events).toMatchObject([{ type: 'workspace.policy-set', fact: { policy: set.body } }])
  })

  test('invalid names are refused', async () => {
    for (const policy of [
      { writers: ['no name'] },
      { writers: 'all' },
      { terminal: { 'no name': [] } },
      { spawn: 'all' },
    ])
      expect((await world.api('workspace.set-policy', policy)).status).toBe(400)
  })
})
