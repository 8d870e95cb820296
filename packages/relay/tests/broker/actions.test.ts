// Actions as agents call them over MCP: a failure reaches its caller as one error with a code, and disturbs nobody else.

import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { ActionEnvelope } from '@agent-relay/sdk/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { until } from '../../../../test/until.ts'
import type { Json } from '../wires/http-world.ts'
import { ActionsWorld, type McpAgent, Provider, wires } from './actions-world.ts'

let world: ActionsWorld
let provider: Provider
let caller: McpAgent

beforeAll(async () => {
  world = await ActionsWorld.start()
  provider = new Provider(world, await world.program('provider'))
  caller = await world.agent('pipe', { name: 'Caller' })
})
afterEach(() => provider.withdraw())
afterAll(async () => {
  expect(world.http.troubles).toEqual([])
  await world.stop()
})

describe('the caller of an action that fails gets one error with a code', () => {
  test('when the handler throws, the caller gets its message and no stack', async () => {
    await provider.offer('thing.throws', () => {
      throw new TypeError('the flux is not set')
    })
    const { isError, data, text } = await caller.call('thing_throws')
    expect(isError).toBe(true)
    expect(data).toEqual({
      ok: false,
      action: 'thing.throws',
      invocationId: expect.stringMatching(/^act_/),
      error: { code: 'handler_failed', message: 'the flux is not set' },
    })
    expect(text).not.toMatch(/\bat .*:\d+:\d+|\.ts\b|\.js\b/)
    expect(JSON.parse(text)).toEqual(data)
  })

  test('when the handler never answers, the caller gets a timeout', async () => {
    await provider.offer('thing.silent', () => new Promise(() => {}), { timeoutMs: 200 })
    const silent = await caller.call('thing_silent')
    expect(silent.data).toMatchObject({ ok: false, error: { code: 'timeout' } })
    const shorter = await caller.call('actions_invoke', { name: 'thing.silent', timeout_ms: 50 })
    expect(shorter.data).toMatchObject({ ok: false, action: 'thing.silent', error: { code: 'timeout' } })
  })

  test('when the handler answers twice, only the first answer counts', async () => {
    const counted: boolean[] = []
    await provider.rawOffer('thing.twice', async (invocation, client) => {
      for (const output of ['first', 'second'])
        counted.push((await client.call('action.answer', { invocation, output })).counted)
    })
    expect((await caller.call('thing_twice')).data).toMatchObject({ ok: true, output: 'first' })
    await until(() => counted.length === 2)
    expect(counted).toEqual([true, false])
  })

  test('when the output does not match the schema, the caller gets invalid_output', async () => {
    await provider.offer('thing.shape', () => ({ wrong: 1 }), { outputSchema: z.object({ right: z.string() }) })
    const { data } = await caller.call('thing_shape')
    expect(data).toMatchObject({
      ok: false,
      error: { code: 'invalid_output', message: expect.stringContaining('right') },
    })
  })

  test('when the input does not match the schema, the handler is not run', async () => {
    let runs = 0
    await provider.offer('thing.input', () => ++runs, { inputSchema: z.object({ count: z.number() }) })
    const { data } = await caller.call('thing_input', { count: 'three' })
    expect(data).toMatchObject({
      ok: false,
      error: { code: 'invalid_input', message: expect.stringContaining('count') },
    })
    expect(runs).toBe(0)
    expect((await caller.call('thing_input', { count: 3 })).data).toMatchObject({ ok: true, output: 1 })
  })

  test('when the provider is killed during the call, the caller gets provider_offline at once, and the action leaves the list', async () => {
    await provider.offer('thing.other', () => 'fine')
    const child = await world.child('doomed')
    await until(async () => (await caller.toolNames()).includes('slow_work'))
    const waiting = caller.call('slow_work')
    const another = caller.call('thing_other')
    await until(async () => {
      const { data } = await caller.call('list_events', { types: ['action.invoked'] })
      return data.events.some((event: Json) => event.fact.action === 'slow.work')
    })
    child.kill('SIGKILL')
    expect((await waiting).data).toMatchObject({ ok: false, action: 'slow.work', error: { code: 'provider_offline' } })
    expect((await another).data).toMatchObject({ ok: true, output: 'fine' })
    expect(await caller.toolNames()).not.toContain('slow_work')
    const gone = await caller.call('slow_work')
    expect(gone.data).toMatchObject({ ok: false, error: { code: 'unknown_action' } })
    expect(gone.data.error.message).toBe('There is no action "slow_work". See actions_list.')
  })

  test('calling an unknown tool does not call an action', async () => {
    const { isError, text, data } = await caller.call('No Such Tool')
    expect([isError, text, data]).toEqual([true, 'Error: Unknown tool: No Such Tool', {}])
  })
})

test('100 callers at once each get their own answer', async () => {
  await provider.offer('thing.echo', async ({ n }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    return { n }
  })
  const agents: McpAgent[] = []
  for (let i = 0; i < 10; i++) agents.push(await world.agent('2025', { name: `Crowd-${i}` }))
  const callers = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => (await world.program(`crowd-${i}`)).actions),
  )
  const calls: Promise<Json>[] = []
  for (let n = 0; n < 100; n++) {
    if (n % 2 === 0) calls.push((agents[n % 10] as McpAgent).call('thing_echo', { n }).then(({ data }) => data))
    else calls.push((callers[(n - 1) / 2] as (typeof callers)[0]).invoke('thing.echo', { n }))
  }
  const envelopes = (await Promise.all(calls)) as (ActionEnvelope & { output: { n: number } })[]
  expect(envelopes.map(({ output }) => output?.n)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  expect(new Set(envelopes.map(({ invocationId }) => invocationId)).size).toBe(100)
})

describe.each(wires)('over %s', (wire) => {
  test('a caller that stopped waiting can fetch the outcome later', async () => {
    const agent = await world.agent(wire)
    await agent.register(`Impatient-${wire}`)
    let finish = () => {}
    const done = new Promise<void>((resolve) => {
      finish = resolve
    })
    await provider.offer(`later.on_${wire}`, () => done.then(() => 'at last'))
    const given = new AbortController()
    const call = agent.call(`later_on_${wire}`, {}, { signal: given.signal })
    const invoked = async () => {
      const { data } = await agent.call('list_events', { types: ['action.invoked'] })
      return data.events.find((event: Json) => event.fact.action === `later.on_${wire}`)?.fact.id
    }
    await until(async () => (await invoked()) !== undefined)
    given.abort()
    await expect(call).rejects.toThrow()
    const invocation = await invoked()
    expect((await agent.call('actions_result', { invocation })).data).toMatchObject({ ok: true, running: true })
    finish()
    await until(async () => (await agent.call('actions_result', { invocation })).data.running !== true)
    expect((await agent.call('actions_result', { invocation })).data).toMatchObject({ ok: true, output: 'at last' })
    // Nobody else sees it.
    const { data } = await caller.call('actions_result', { invocation })
    expect(data.error.code).toBe('invocation.unknown')
  })
})

test('the time limit of a call still counts when its caller has gone', async () => {
  const leaving = await world.agent('2025', { name: 'Leaving' })
  const given = new AbortController()
  const stuck = () => {
    // Its caller goes once it has begun.
    given.abort()
    return new Promise(() => {})
  }
  await provider.offer('thing.stuck', stuck, { timeoutMs: 300 })
  const call = leaving.call('thing_stuck', {}, { signal: given.signal })
  await expect(call).rejects.toThrow()
  const ended = async () => {
    const { data } = await leaving.call('list_events', { types: ['action.completed'] })
    return data.events.map((event: Json) => event.fact.code)
  }
  await until(async () => (await ended()).includes('timeout'))
})

describe('a call that is sent again runs once', () => {
  let runs = 0
  beforeEach(async () => {
    runs = 0
    await provider.offer('thing.once', () => ++runs)
  })

  test('sent by a program under the same id', async () => {
    const bob = await world.program('bob')
    const input = { name: 'thing.once', input: {} }
    const first = await bob.client.call('action.invoke', input, { id: 'the-same-call' })
    expect(await bob.client.call('action.invoke', input, { id: 'the-same-call' })).toEqual(first)
    expect(runs).toBe(1)
  })

  test('sent by a pipe that reconnected, under its own id and that of the request', async () => {
    const first = await askOnce(7)
    expect(first).toMatchObject({ ok: true, output: 1 })
    expect(await askOnce(7)).toEqual(first)
    expect(await askOnce(8)).toMatchObject({ output: 2 })
    expect(runs).toBe(2)
  })

  /** A pipe by hand, always under the same pipe id: HELLO, the session as far as it has come, and one call. */
  async function askOnce(id: number): Promise<Json> {
    const socket = connect(world.socketPath)
    const lines: Json[] = []
    createInterface({ input: socket }).on('line', (line) => lines.push(JSON.parse(line)))
    const say = (message: object) => void socket.write(`${JSON.stringify(message)}\n`)
    const mcp = { pipe: 'pipe-that-comes-back', name: 'Resender', tools: 'workspace', calls: [7] }
    const clientInfo = { name: 'raw', version: '1' }
    say({ v: 1, type: 'HELLO', id: 'pipe', ts: Date.now(), payload: { mcp } })
    say({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    })
    say({ jsonrpc: '2.0', method: 'notifications/initialized' })
    say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'thing_once', arguments: {} } })
    await until(() => lines.some((line) => line.id === id))
    socket.end()
    await once(socket, 'close')
    return JSON.parse(lines.find((line) => line.id === id)?.result.content[0].text)
  }
})
