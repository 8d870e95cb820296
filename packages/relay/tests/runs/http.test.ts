// Contract agents for MCP clients and REST callers: the tools' answers in both eras, the right to complete, and the payload's address.

import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { limits } from '@agent-relay/sdk/protocol'
import { websocketConnector } from '@agent-relay/sdk/wire'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { called, HttpWorld, type Json } from '../wires/http-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start({}, ['home'], { env: {} })
})
afterAll(() => world.stop())

const external = { contract: 'Write it.', harness: 'external' }

describe.each(['2025', '2026', 'sse'] as const)('MCP, %s', (era) => {
  test('start, status, complete and stop answer as specified', async () => {
    const client = await world.client(era, world.as(`boss-${era}`))
    const started = await called(client, 'agent_start', external)
    const { agent_id, started_at } = started
    expect(started).toEqual({ agent_id, status: 'running', started_at, agent_name: `boss-${era}` })
    expect(new Date(started_at).toISOString()).toBe(started_at)
    expect(await called(client, 'agent_status', { agent_ids: [agent_id, 'run_none'] })).toEqual([
      { agent_id, agent_name: `boss-${era}`, status: 'running', started_at },
      { agent_id: 'run_none', error: expect.stringContaining('not found') },
    ])
    const done = await called(client, 'agent_complete', { agent_id, summary: 'Written.', payload: 'text' })
    expect(done).toEqual({ status: 'completed', started_at, completed_at: expect.stringMatching(/Z$/) })
    expect(await called(client, 'agent_complete', { agent_id, summary: 'Again.' })).toEqual(done)
    expect(await called(client, 'agent_stop', { agent_id })).toEqual(done)
    const [status] = await called(client, 'agent_status', { agent_ids: [agent_id] })
    const payload_url = expect.stringContaining(`${world.url}/api/agents/${agent_id}/payload?right=`)
    expect(status).toMatchObject({ status: 'completed', summary: 'Written.', payload_size: 4, payload_url })
    const other = await called(client, 'agent_start', external)
    const stopped = await called(client, 'agent_stop', { agent_id: other.agent_id })
    expect(stopped).toMatchObject({ status: 'stopped', stopped_at: expect.stringMatching(/Z$/) })
    expect(await called(client, 'agent_complete', { agent_id: other.agent_id, summary: 'Late.' })).toEqual(stopped)
  })

  test('only the agent of a run, the agent that asked for it, and the key holder can complete it', async () => {
    const boss = await world.client(era, world.as(`boss-${era}`))
    const worker = await world.client(era, world.as(`worker-${era}`))
    const stranger = await world.client(era, world.as(`stranger-${era}`))
    const { agent_id } = await called(boss, 'agent_start', { ...external, agent: `worker-${era}` })
    const complete = (client: Client) => called(client, 'agent_complete', { agent_id, summary: 'x' })
    await expect(complete(stranger)).rejects.toThrow(/not found/)
    await expect(called(stranger, 'agent_stop', { agent_id })).rejects.toThrow(/not found/)
    expect(await complete(worker)).toMatchObject({ status: 'completed' })
  })
})

test('a client that knows only the address is told the one step that it needs', async () => {
  const answer = await fetch(`${world.url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  expect(answer.status).toBe(401)
  const { message } = ((await answer.json()) as Json).error
  for (const step of ['agent-relay workspace key', 'agent-relay up --open']) expect(message).toContain(step)
})

test('a client that knows only the address finds the tools; the preview is not for everybody', async () => {
  const client = await world.client('2025', world.as('boss'))
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(['agent_start', 'agent_status', 'agent_complete', 'agent_stop', 'relay_send']),
  )
  const asked = await world.client('2025', world.as('boss'), { query: 'tools=agents' })
  expect((await asked.listTools()).tools.map(({ name }) => name)).toEqual([
    'agent_start',
    'agent_status',
    'agent_complete',
    'agent_stop',
    'agent_payload',
  ])
})

describe('on an open port', () => {
  let open: HttpWorld
  beforeAll(async () => {
    open = await HttpWorld.start({ isOpen: true }, ['home'], { env: {} })
  })
  afterAll(() => open.stop())

  test('a session has its automatic name as identity, and a stateless call none', async () => {
    const one = await open.client('2025', {}, { name: 'minifram' })
    const nobody = await open.client('2026', {}, { name: 'minifram' })
    expect(await called(one, 'agent_start', external)).toMatchObject({ agent_name: 'minifram' })
    const own = await called(nobody, 'agent_start', { contract: 'No model is there.' })
    expect(own).toMatchObject({ status: 'running', agent_name: expect.stringMatching(/^run-/) })
    const asked = await called(nobody, 'agent_start', external)
    const ended = await called(nobody, 'agent_complete', { agent_id: asked.agent_id, summary: 'x', payload: 'd e f' })
    expect(ended).toMatchObject({ status: 'completed' })
    expect(await (await fetch(`${open.url}/api/agents/${asked.agent_id}/payload`)).text()).toBe('d e f')
  })
})

test('over /ws events come live, and a payload of the greatest size passes', async () => {
  const client = new WorkspaceClient(websocketConnector(world.url), {
    agentName: 'ws-boss',
    key: world.key,
    autoConnect: false,
  })
  await client.connect()
  const seen: Json[] = []
  await client.watch({ types: ['run.*'] }, ({ type, fact }) => seen.push({ type, id: fact.id })).ready
  const { id } = await client.call('run.start', { contract: 'Write it.', harness: 'external' })
  const payload = 'x'.repeat(limits.payloadBytesMax)
  await client.call('run.complete', { run: id, summary: 'Written.', payload })
  await until(() => seen.length === 2)
  expect(seen).toEqual([
    { type: 'run.started', id },
    { type: 'run.completed', id },
  ])
  const { size, gzip } = await client.call('run.payload', { run: id })
  expect([size, gunzipSync(Buffer.from(gzip, 'base64')).length]).toEqual([payload.length, payload.length])
  await client.disconnect()
})

test('over MCP: a payload of the greatest size passes, one byte more is refused with the fix', async () => {
  const client = await world.client('2025', world.as('boss'))
  const { agent_id } = await called(client, 'agent_start', external)
  const payload = '"quoted"\n'.repeat(limits.payloadBytesMax / 8).slice(0, limits.payloadBytesMax)
  const complete = (text: string) => called(client, 'agent_complete', { agent_id, summary: 's', payload: text })
  await expect(complete(`${payload}x`)).rejects.toThrow(/at most 8 MiB: write it to a file/)
  expect(await complete(payload)).toMatchObject({ status: 'completed' })
})

describe('REST', () => {
  const get = (path: string, headers: Json = {}): Promise<{ status: number; headers: Json; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const asking = request(world.url + path, { headers: { authorization: `Bearer ${world.key}`, ...headers } })
      asking.on('error', reject).end()
      asking.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode as number, headers: response.headers, body: Buffer.concat(chunks) }),
        )
      })
    })
  const json = async (path: string) => JSON.parse((await get(path)).body.toString()) as Json

  test('starts, lists, shows and stops runs', async () => {
    const { status, body } = await world.post('/api/agents', external, world.as('rest'))
    expect(status).toBe(200)
    expect(body).toMatchObject({ agent_id: expect.stringMatching(/^run_/), status: 'running' })
    expect(await json(`/api/agents/${body.agent_id}`)).toEqual(body)
    expect((await json('/api/agents')).agents[0]).toEqual(body)
    expect((await json('/api/agents?status=running')).agents).toContainEqual(body)
    expect((await get('/api/agents/run_none')).status).toBe(404)
    expect((await world.post('/api/agents/run_none/stop', {})).status).toBe(404)
    expect((await world.post('/api/agents', {})).status).toBe(400)
    const stopped = await world.post(`/api/agents/${body.agent_id}/stop`, { reason: 'enough' })
    expect(stopped).toMatchObject({ status: 200, body: { status: 'stopped', stop_reason: 'enough' } })
    expect((await fetch(`${world.url}/api/agents`)).status).toBe(401)
  })

  test('answers the payload compressed, or with 404 or 406', async () => {
    const { body } = await world.post('/api/agents', external, world.as('rest'))
    const id = body.agent_id
    const path = `/api/agents/${id}/payload`
    const gzip = { 'accept-encoding': 'gzip' }
    expect((await get(path, gzip)).status).toBe(404)
    expect((await get('/api/agents/run_none/payload', gzip)).status).toBe(404)
    const payload = 'Zeile äöü 😀\n'.repeat(10_000)
    const completed = await world.api('run.complete', { run: id, summary: 's', payload }, world.as('rest'))
    expect(completed.body.payloadSize).toBe(Buffer.byteLength(payload))
    const found = await get(path, gzip)
    expect(found.status).toBe(200)
    expect(found.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-length': String(found.body.length) })
    expect(found.body.length).toBeLessThan(Buffer.byteLength(payload) / 5)
    expect(gunzipSync(found.body).toString()).toBe(payload)
    for (const yes of ['gzip;q=0.5', 'br, GZIP', '*', 'deflate, *;q=0.1', 'gzip; q=1.0, *;q=0'])
      expect([yes, (await get(path, { 'accept-encoding': yes })).status]).toEqual([yes, 200])
    for (const no of ['', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.0, *', '*;q=0'])
      expect([no, (await get(path, { 'accept-encoding': no })).status]).toEqual([no, 406])
    expect((await get(path)).status).toBe(406)
  })
})
