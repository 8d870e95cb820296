// The lines of a stdio pipe over an upgraded HTTP connection: the handshake, the agent that it acts as, and the refusals.

import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { HttpWorld, type Json } from './http-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start()
})
afterAll(() => world.stop())

interface Line {
  stream: Duplex
  lines: Json[]
  isEnded(): boolean
  say(message: object): void
  /** The answer to a request. */
  ask(id: number, method: string, params?: object): Promise<Json>
}

function open(headers: Record<string, string>, { url } = world): Promise<Line> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/pipe`, {
      headers: { connection: 'Upgrade', upgrade: 'agent-relay-pipe', ...headers },
    })
    asked.on('upgrade', (answer, stream) => {
      expect([answer.statusCode, answer.headers.upgrade]).toEqual([101, 'agent-relay-pipe'])
      resolve(lineOver(stream))
    })
    asked.on('response', (answer) => reject(new Error(`status ${answer.resume().statusCode}`)))
    asked.on('error', reject)
    asked.end()
  })
}

function lineOver(stream: Duplex): Line {
  const lines: Json[] = []
  let rest = ''
  let hasEnded = false
  stream.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() as string
    for (const part of parts) lines.push(JSON.parse(part))
  })
  stream.on('close', () => {
    hasEnded = true
  })
  const say = (message: object) => void stream.write(`${JSON.stringify(message)}\n`)
  return {
    stream,
    lines,
    isEnded: () => hasEnded,
    say,
    async ask(id, method, params = {}) {
      say({ jsonrpc: '2.0', id, method, params })
      await until(() => lines.some((line) => line.id === id))
      return lines.find((line) => line.id === id)?.result
    },
  }
}

const hello = (mcp: object) => ({ v: 1, type: 'HELLO', id: 'pipe', ts: Date.now(), payload: { mcp } })
const clientInfo = { name: 'codex-mcp-client', version: '1' }
const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }

test('the key and a name: WELCOME, then MCP lines', async () => {
  const pipe = await open({ authorization: `Bearer ${world.key}` })
  pipe.say(hello({ pipe: 'pipe-number-1', name: 'Ada' }))
  expect((await pipe.ask(1, 'initialize', initialize)).serverInfo.name).toBe('agent-relay')
  expect(pipe.lines[0]).toMatchObject({
    type: 'WELCOME',
    payload: { agent: 'Ada', token: expect.stringMatching(/^at_/) },
  })
  pipe.say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const status = await pipe.ask(2, 'tools/call', { name: 'relay_status', arguments: {} })
  expect(status.content[0].text).toContain('Agent Name: Ada')
  const listed = (await world.api('agent.list')).body.agents.map(({ name }: { name: string }) => name)
  expect(listed).toContain('Ada')
  pipe.stream.end()
  await until(pipe.isEnded)
})

test('a token acts as its own agent; without a name the client is named after itself', async () => {
  const token = await world.token('Bob')
  const bob = await open({ authorization: `Bearer ${token}` })
  bob.say(hello({ pipe: 'pipe-number-2' }))
  await until(() => bob.lines.length > 0)
  expect(bob.lines[0]).toMatchObject({ type: 'WELCOME', payload: { agent: 'Bob' } })
  const mallory = await open({ authorization: `Bearer ${token}` })
  mallory.say(hello({ pipe: 'pipe-number-3', name: 'Ada' }))
  await until(mallory.isEnded)
  expect(mallory.lines[0]).toMatchObject({ type: 'ERROR', payload: { code: 'auth.denied' } })
  const codex = await open({ authorization: `Bearer ${world.key}` })
  codex.say(hello({ pipe: 'pipe-number-4' }))
  await codex.ask(1, 'initialize', initialize)
  codex.say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await until(() => codex.lines.some(({ type }) => type === 'WELCOME'))
  const welcomes = () => codex.lines.filter(({ type }) => type === 'WELCOME').map(({ payload }) => payload)
  expect(welcomes()).toEqual([{ given: 'codex' }])
  // Once somebody writes to it, it is stored, and told how to come back as the same agent.
  await world.api('message.send', { to: 'codex', body: 'hello' }, world.as('Bob'))
  await until(() => welcomes().length === 2)
  expect(welcomes()[1]).toMatchObject({ agent: 'codex', token: expect.stringMatching(/^at_/) })
  for (const { stream } of [bob, codex]) stream.destroy()
})

test('a model with the key hears only of its own mail', async () => {
  await world.token('Cyd')
  await world.token('Dan')
  const cyd = await open({ authorization: `Bearer ${world.key}` })
  cyd.say(hello({ pipe: 'pipe-number-5', name: 'Cyd', push: 'channel' }))
  await cyd.ask(1, 'initialize', initialize)
  cyd.say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await cyd.ask(2, 'tools/call', { name: 'relay_status', arguments: {} })
  await world.api('message.send', { to: 'Dan', body: 'for Dan alone' }, world.as('Bob'))
  await world.api('message.send', { to: 'Cyd', body: 'for Cyd' }, world.as('Bob'))
  const pushed = () => cyd.lines.filter(({ method }) => method === 'notifications/claude/channel')
  await until(() => pushed().length > 0)
  expect(pushed().map(({ params }) => params.content)).toEqual(['for Cyd'])
  cyd.stream.destroy()
})

test('refused: no credential, a wrong one, another protocol, another first line', async () => {
  await expect(open({})).rejects.toThrow('status 401')
  await expect(open({ authorization: 'Bearer rk_wrong' })).rejects.toThrow('status 401')
  await expect(open({ authorization: `Bearer ${world.key}`, upgrade: 'h2c' })).rejects.toThrow('status 404')
  const pipe = await open({ authorization: `Bearer ${world.key}` })
  pipe.say({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })
  await until(pipe.isEnded)
  expect(pipe.lines[0]).toMatchObject({ type: 'ERROR', payload: { code: 'frame.invalid' } })
})

test("a lift's port: a declared role and the lift's tools, and nothing else", async () => {
  const lift = await HttpWorld.start({ isOpen: true }, ['lift'], { roles: ['pm', 'dev'] })
  try {
    const pm = await open({}, lift)
    pm.say(hello({ pipe: 'pipe-of-the-pm', name: 'pm' }))
    await pm.ask(1, 'initialize', initialize)
    const { tools } = await pm.ask(2, 'tools/list')
    expect(tools.map(({ name }: Json) => name)).toEqual(['post_message', 'read_messages', 'list_pending'])
    const refused = async (mcp: object) => {
      const pipe = await open({}, lift)
      pipe.say(hello({ pipe: 'pipe-of-a-stranger', ...mcp }))
      await until(pipe.isEnded)
      return pipe.lines.map(({ type, payload }) => [type, payload.code])
    }
    expect(await refused({ name: 'dev', tools: 'lift,relay' })).toEqual([['ERROR', 'input.invalid']])
    expect(await refused({ name: 'mallory' })).toEqual([['ERROR', 'auth.denied']])
  } finally {
    await lift.stop()
  }
})
