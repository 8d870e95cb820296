// Envelopes over WebSocket, with the SDK's own link and by hand: credentials in HELLO or in a header, limits, and a stop that says goodbye.

import type { Socket } from 'node:net'
import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { limits } from '@agent-relay/sdk/protocol'
import { websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { guardMs } from '../../../../test/guard.ts'
import { until } from '../../../../test/until.ts'
import { HttpWorld } from './http-world.ts'

let world: HttpWorld
const clients: WorkspaceClient[] = []
beforeAll(async () => {
  world = await HttpWorld.start({ websocketLimits: { helloMs: guardMs } }, ['home', 'other'])
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.disconnect()))
  await world.stop()
})

function client(options: { agentName?: string; key?: string; token?: string; strictName?: boolean }): WorkspaceClient {
  const made = new WorkspaceClient(websocketConnector(world.url), { ...options, autoConnect: false })
  clients.push(made)
  return made
}

describe('the SDK over /ws', () => {
  test('a play: register, send, hear, await a reply', async () => {
    const { key } = world
    const ada = client({ agentName: 'Ada', key })
    const bob = client({ agentName: 'Bob', key })
    await Promise.all([ada.connect(), bob.connect()])
    bob.on('message', (message) => void (message.body === 'ready?' && bob.send('Ada', 'yes')))
    expect((await ada.sendAndWait('Bob', 'ready?')).body).toBe('yes')
    const heard: string[] = []
    const watch = ada.watch({ types: ['message.created'] }, ({ message }) => heard.push(message?.body ?? ''))
    await watch.ready
    await bob.send('#general', 'to all')
    await until(() => heard.includes('to all'))
    expect((await ada.getStatus()).url).toBe(world.url)
  })

  test('the token alone names the agent; a wrong or missing one is refused with the reason', async () => {
    const token = await world.token('Cyd')
    const cyd = client({ token })
    expect((await cyd.connect()).agent).toBe('Cyd')
    await expect(client({ token: 'at_wrong' }).connect()).rejects.toThrow('workspace key or agent token')
    await expect(client({ agentName: 'Dan' }).connect()).rejects.toThrow('workspace key or agent token')
    await expect(client({ agentName: 'Bob', token }).connect()).rejects.toThrow("not one of Bob's")
  })

  test('the key chooses the workspace', async () => {
    const { workspace } = await client({ key: world.keys.get('other') }).connect()
    expect(workspace).toBe('other')
  })

  test('connecting to a port where nobody listens says that the daemon is not running', async () => {
    const nowhere = new WorkspaceClient(websocketConnector('http://127.0.0.1:9'), { autoConnect: false })
    await expect(nowhere.connect()).rejects.toThrow('not running')
  })
})

describe('by hand', () => {
  const open = (headers: Record<string, string> = {}, { url } = world) =>
    new Promise<{
      ws: WebSocket
      closed: Promise<number>
      frames: { type: string; id: string; payload: Record<string, unknown> }[]
    }>((resolve, reject) => {
      const ws = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers })
      const frames: never[] = []
      ws.on('message', (data) => frames.push(JSON.parse(String(data)) as never))
      const closed = new Promise<number>((done) => ws.on('close', done))
      ws.on('open', () => resolve({ ws, frames, closed }))
      ws.on('error', reject)
    })
  const frame = (type: string, id: string, payload: object = {}) =>
    JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })

  test('a header may carry the credential; a wrong one is refused before the upgrade', async () => {
    const { ws, frames } = await open({ authorization: `Bearer ${world.key}` })
    ws.send(frame('HELLO', 'h', { name: 'Handy' }))
    await until(() => frames.length === 1)
    expect(frames[0]).toMatchObject({ type: 'WELCOME', payload: { agent: 'Handy', workspace: 'home' } })
    ws.close()
    await expect(open({ authorization: 'Bearer rk_wrong' })).rejects.toThrow('401')
    await expect(open({ origin: 'https://evil.example' })).rejects.toThrow('403')
  })

  test('a call before HELLO ends it; nonsense does not, unless it goes on', async () => {
    const early = await open()
    early.ws.send(frame('CALL', '1', { op: 'agent.list', input: {} }))
    expect(await early.closed).toBe(1000)
    expect(early.frames[0]).toMatchObject({ type: 'BYE' })
    const { ws, frames } = await open()
    ws.send('nonsense')
    ws.send(Buffer.from([0xff, 0xfe]))
    ws.send(JSON.stringify({ v: 2 }))
    ws.send(frame('HELLO', 'h', { key: world.key }))
    await until(() => frames.length === 4)
    expect(frames.map(({ type }) => type)).toEqual(['ERROR', 'ERROR', 'ERROR', 'WELCOME'])
    // No number of its text is taken for a limit.
    expect(frames.flatMap(({ payload }) => payload.details ?? [])).toEqual([
      { why: 'not JSON' },
      { why: 'not UTF-8' },
      { why: 'v must be 1' },
    ])
    ws.close()
  })

  test.each([
    { key: 5 },
    { key: {} },
    { token: 5 },
    { session: {} },
    { session: 'x'.repeat(1_000) },
    { calls: 'all' },
    { host: 'me' },
  ])('a HELLO that is not valid: %o', async (hello) => {
    const { ws, frames, closed } = await open({ authorization: `Bearer ${world.key}` })
    ws.send(frame('HELLO', 'h', hello))
    await closed
    const why = expect.stringContaining(`HELLO: ${Object.keys(hello)[0]}: `)
    expect(frames[0]).toMatchObject({ type: 'ERROR', payload: { code: 'frame.invalid', details: { why } } })
  })

  test('an offline name is not taken again without its token', async () => {
    await world.token('Eve')
    const token = await world.token('Fay')
    const { ws, frames, closed } = await open()
    ws.send(frame('HELLO', 'h', { name: 'Eve', token, strict: true }))
    await until(() => frames.length === 1)
    expect(frames[0]).toMatchObject({ type: 'ERROR', payload: { code: 'auth.denied' } })
    await closed
  })

  test('a message over 12 MiB ends the connection, and compression is not offered', async () => {
    const { ws, closed } = await open()
    expect(ws.extensions).toBe('')
    // Its head alone: what follows would still be on its way when the connection ends.
    const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    head.writeBigUInt64BE(BigInt(limits.lineBytesMax + 1), 2)
    ;(ws as unknown as { _socket: Socket })._socket.write(head)
    expect(await closed).toBe(1009)
  })

  test('no HELLO in time ends it', async () => {
    const helloMs = 500
    const hasty = await HttpWorld.start({ websocketLimits: { helloMs } })
    onTestFinished(() => hasty.stop())
    const begun = Date.now()
    const { closed } = await open({}, hasty)
    await closed
    // A timer may be a little early by this clock.
    expect(Date.now() - begun).toBeGreaterThan(helloMs - 50)
  })
})

test('a client that does not read is cut off after a while, and gets no more', async () => {
  const world = await HttpWorld.start({ websocketLimits: { stalledMs: 500 } })
  onTestFinished(() => world.stop())
  const sender = new WorkspaceClient(websocketConnector(world.url), {
    agentName: 'Fast',
    key: world.key,
    autoConnect: false,
  })
  clients.push(sender)
  await sender.connect()
  const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws`)
  const say = (type: string, id: string, payload: object) => ws.send(JSON.stringify({ v: 1, type, id, ts: 0, payload }))
  const heard: string[] = []
  ws.on('message', (data) => heard.push(String(data).slice(0, 200)))
  const ended = new Promise((resolve) => ws.on('close', resolve))
  await new Promise((resolve) => ws.on('open', resolve))
  say('HELLO', 'h', { key: world.key })
  await until(() => heard.length === 1)
  say('CALL', 'w', { op: 'event.follow', input: {} })
  await until(() => heard.length === 2)
  const sessions = async () => {
    const figures = await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${world.key}` } })
    return Number(/^agent_relay_sessions\S* (\d+)$/m.exec(await figures.text())?.[1])
  }
  const connected = await sessions()
  ws.pause()
  for (let i = 0; i < 120; i++) await sender.send('#general', 'x'.repeat(200 * 1024))
  await until(async () => (await sessions()) < connected)
  ws.resume()
  await ended
  expect(heard.length).toBeLessThan(122)
})

test('a relay that is open takes a name at its word, but numbers one that is there', async () => {
  const open = await HttpWorld.start({ isOpen: true })
  const connect = async (agentName?: string) => {
    const made = new WorkspaceClient(websocketConnector(open.url), { agentName, autoConnect: false })
    clients.push(made)
    return { made, welcome: await made.connect() }
  }
  expect((await connect('Ada')).welcome.agent).toBe('Ada')
  expect((await connect('Ada')).welcome.agent).toBe('Ada-2')
  const { made } = await connect()
  const types: string[] = []
  // A busy machine answers in several pages.
  for (let before: number | undefined, isMore = true; isMore; isMore = before !== undefined) {
    const { events, earlier } = await made.call('event.list', { before })
    types.push(...events.map(({ type }) => type))
    before = earlier
  }
  expect(types).toContain('channel.created')
  // What only the key's holder sees.
  expect(types).not.toContain('workspace.began')
  const gone = new Promise((resolve) => made.on('disconnect', resolve))
  await open.stop()
  expect(await gone).toMatchObject({ how: 'refused', refusal: { code: 'daemon.stopping' } })
})
