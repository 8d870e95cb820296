// Lifetimes over HTTP: waits and their streams, unused sessions, too many sessions, and a daemon that stops.

import { afterEach, describe, expect, test } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { until } from '../../../test/until.ts'
import { eras, HttpWorld, textOf } from '../../relay/tests/wires/http-world.ts'

let world: HttpWorld
afterEach(async () => {
  await world.stop()
  expect(world.troubles).toEqual([])
})

async function statusOf(name: string): Promise<string> {
  const { body } = await world.api('agent.list', { includeOffline: true })
  return body.agents.find((agent: { name: string }) => agent.name === name)?.status
}

async function waitsFor(name: string): Promise<string | undefined> {
  const { body } = await world.api('agent.list', { includeOffline: true })
  return body.agents.find((agent: { name: string }) => agent.name === name)?.waitingFor?.agent
}

/** A session of 2025 that nobody uses yet: the headers of a request in it. */
async function open(name: string): Promise<Record<string, string>> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...world.as(name),
  }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const opened = await fetch(`${world.url}/mcp`, { method: 'POST', headers, body })
  await opened.text()
  expect(opened.status).toBe(200)
  return { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
}
const stateless = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'relay_send' }

/** A call that waits for Bob, by hand, so that its stream can be looked at and cut. */
async function ask(era: '2025' | '2026', stop: AbortController, progressToken?: number): Promise<Response> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...world.as('Ada'),
  }
  const send = (body: object, more: Record<string, string> = {}) =>
    fetch(`${world.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      signal: stop.signal,
    })
  const args = { to: 'Bob', message: 'well?', await_response: true, timeout_ms: guardMs }
  const params = { name: 'relay_send', arguments: args, _meta: { ...(era === '2026' ? meta : {}), progressToken } }
  if (era === '2026') return send({ id: 7, method: 'tools/call', params }, stateless)
  const clientInfo = { name: 'raw', version: '1' }
  const opened = await send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
  await (await send({ method: 'notifications/initialized' }, session)).text()
  return send({ id: 7, method: 'tools/call', params }, session)
}

describe.each(['2025', '2026'] as const)('a long wait over %s', (era) => {
  test('opens its stream at once, and ends when the request is closed', async () => {
    world = await HttpWorld.start({ mcpLimits: { keepAliveMs: 50 } })
    await world.token('Bob')
    const stop = new AbortController()
    const response = await ask(era, stop)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain(': keepalive')
    await until(async () => (await waitsFor('Ada')) === 'Bob')
    stop.abort()
    await until(async () => (await waitsFor('Ada')) === undefined)
    // The reply that nobody waits for any more is in the inbox, unread.
    await world.api('message.send', { to: 'Ada', body: 'well!' }, world.as('Bob'))
    const { body } = await world.api('inbox.peek', {}, world.as('Ada'))
    expect(body.messages.map((message: { body: string; receipt: string }) => [message.body, message.receipt])).toEqual([
      ['well!', 'stored'],
    ])
  })

  test('shows progress at once where that was asked for', async () => {
    world = await HttpWorld.start()
    await world.token('Bob')
    const stop = new AbortController()
    const response = await ask(era, stop, 99)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('"progressToken":99')
    stop.abort()
    await until(async () => (await waitsFor('Ada')) === undefined)
  })
})

test.each(eras)('over %s a cancelled call ends its wait, and the client goes on', async (era) => {
  world = await HttpWorld.start()
  await world.token('Bob')
  const ada = await world.client(era, world.as('Ada'))
  const stop = new AbortController()
  const input = { to: 'Bob', message: 'well?', await_response: true, timeout_ms: guardMs }
  const asking = ada.callTool({ name: 'relay_send', arguments: input }, { signal: stop.signal })
  await until(async () => (await waitsFor('Ada')) === 'Bob')
  stop.abort()
  await expect(asking).rejects.toThrow()
  await until(async () => (await waitsFor('Ada')) === undefined)
  expect(await textOf(ada, 'relay_status')).toContain('Agent Name: Ada')
})

test('an inbox whose answer is given up goes back, and the next call gets it', async () => {
  world = await HttpWorld.start()
  const [ada, bob] = [await world.client('2025', world.as('Ada')), await world.client('2025', world.as('Bob'))]
  await textOf(bob, 'relay_status')
  await textOf(ada, 'relay_send', { to: 'Bob', message: 'first' })
  const stop = new AbortController()
  const asking = bob.callTool({ name: 'relay_inbox', arguments: {} }, { signal: stop.signal })
  // Both in one turn of the event loop: the call and that nobody wants it any more.
  stop.abort()
  await expect(asking).rejects.toThrow()
  await until(async () => (await textOf(bob, 'relay_inbox')).includes('first'))
})

describe('a session that is not used', () => {
  const idleMs = 300
  /** Whoever was unused since before this began would have been ended before it. */
  const anotherEnds = async () => {
    await open('Late')
    await until(async () => (await statusOf('Late')) === 'offline')
  }

  test('a 2025 session ends without a call or a stream, and the client is told to open another', async () => {
    world = await HttpWorld.start({ mcpLimits: { idleMs } })
    const stop = new AbortController()
    let session: Record<string, string> = {}
    // On a slow machine its time may be over before the stream is there.
    await until(async () => {
      session = await open('Ada')
      const headers = { ...session, accept: 'text/event-stream' }
      const { status } = await fetch(`${world.url}/mcp`, { headers, signal: stop.signal })
      expect([200, 404]).toContain(status)
      return status === 200
    })
    await anotherEnds()
    expect(await statusOf('Ada')).toBe('active')
    stop.abort()
    await until(async () => (await statusOf('Ada')) === 'offline')
    const late = await world.post('/mcp', { jsonrpc: '2.0', id: 2, method: 'ping' }, session)
    expect(late.status).toBe(404)
  })

  test('a stateless identity ends too; what was handed out and not confirmed comes again', async () => {
    world = await HttpWorld.start({ mcpLimits: { idleMs } })
    const ada = await world.client('2026', world.as('Ada'))
    await textOf(ada, 'relay_status')
    await world.api('message.send', { to: 'Ada', body: 'once more' }, world.as('Bob'))
    expect(await textOf(ada, 'relay_inbox')).toContain('once more')
    await until(async () => (await statusOf('Ada')) === 'offline')
    expect(await textOf(ada, 'relay_inbox')).toContain('once more')
    // The next call confirms it, unless it comes so late that the identity has ended again.
    await until(async () => (await textOf(ada, 'relay_inbox')) === 'No messages in inbox.')
  })

  test('a session of the oldest kind lives as long as its stream', async () => {
    world = await HttpWorld.start({ mcpLimits: { idleMs } })
    const ada = await world.client('sse', world.as('Ada'))
    await anotherEnds()
    expect(await textOf(ada, 'relay_status')).toContain('Agent Name: Ada')
    await ada.close()
    await until(async () => (await statusOf('Ada')) === 'offline')
  })
})

test('beyond the limit of sessions the longest unused one is ended', async () => {
  world = await HttpWorld.start({ mcpLimits: { sessionsMax: 2 } })
  for (const name of ['Ada', 'Bob', 'Cyd']) await open(name)
  expect([await statusOf('Ada'), await statusOf('Bob'), await statusOf('Cyd')]).toEqual(['offline', 'active', 'active'])
})

test('a daemon that stops ends every stream', async () => {
  world = await HttpWorld.start()
  for (const era of eras) {
    const client = await world.client(era, world.as(`Agent-${era}`))
    if (era === '2026') await client.listen({ resourceSubscriptions: ['relay://inbox'] })
    else await client.subscribeResource({ uri: 'relay://inbox' })
  }
  await world.daemon.stop()
  await expect(fetch(`${world.url}/healthz`)).rejects.toThrow()
})
