// Errors over HTTP: each is answered with a useful text, the session lives on, and nobody reaches another caller's session.

import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { type Era, eras, HttpWorld, rawStatus, textOf } from '../../relay/tests/wires/http-world.ts'

let world: HttpWorld
let ada: string
let bob: string
beforeAll(async () => {
  world = await HttpWorld.start()
  ada = await world.token('Ada')
  bob = await world.token('Bob')
})
afterAll(() => world.stop())
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const accept = { accept: 'application/json, text/event-stream' }
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

describe.each(eras)('over %s', (era: Era) => {
  let client: Client
  beforeAll(async () => {
    client = await world.client(era, bearer(ada))
  })

  test.each([
    ['a wrong type', 'relay_send', { to: 7, message: 'x' }, /Invalid input for relay_send: to: .*string/],
    ['a missing field', 'relay_send', { to: 'Bob' }, /Invalid input for relay_send: message/],
    ['a body of 300 KiB', 'relay_send', { to: 'Bob', message: 'x'.repeat(300 * 1024) }, /256 KiB/],
    ['an unknown tool', 'relay_fly', {}, /Unknown tool: relay_fly/],
    ['an unknown agent', 'relay_send', { to: 'Bop', message: 'x' }, /Did you mean Bob\?/],
  ])('%s', async (_, name, input, text) => {
    const result = await client.callTool({ name, arguments: input })
    expect(result.isError).toBe(true)
    expect((result.content as { text: string }[])[0]?.text).toMatch(text)
    expect(await textOf(client, 'relay_status')).toContain('Agent Name: Ada')
  })

  test('an unknown resource and an unknown prompt', async () => {
    await expect(client.readResource({ uri: 'relay://nothing' })).rejects.toThrow('relay://nothing')
    await expect(client.getPrompt({ name: 'nothing' })).rejects.toThrow('Unknown prompt: nothing')
    expect(await textOf(client, 'relay_status')).toContain('Agent Name: Ada')
  })

  test('an unknown toolset', async () => {
    await expect(world.client(era, bearer(ada), { query: 'tools=relay,magic' })).rejects.toThrow()
    const path = era === 'sse' ? '/sse?tools=magic' : '/mcp?tools=magic'
    const response = await fetch(world.url + path, { headers: { ...bearer(ada), accept: 'text/event-stream' } })
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('Unknown toolset: magic')])
  })
})

describe('bad requests to /mcp', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    world.post('/mcp', body, { ...bearer(ada), ...accept, ...headers })

  test.each([
    ['no JSON', '{"jsonrpc":', 400, /not valid JSON/],
    ['no session', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, 400, /Mcp-Session-Id/],
    ['an endless id', { ...initialize, id: 'x'.repeat(101) }, 400, /id is at most/],
    ['null', 'null', 400, /./],
    ['a batch that opens', [initialize, initialize], 400, /./],
  ])('%s', async (_, body, status, text) => {
    const answer = await post(body)
    expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringMatching(text)])
  })

  test('more than 12 MiB: 413, by length and while it comes', async () => {
    const answer = await post(`"${'x'.repeat(12 * 1024 * 1024)}"`)
    expect(answer.status).toBe(413)
    const chunk = 'x'.repeat(1024 * 1024)
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${world.port}\r\nAuthorization: Bearer ${ada}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunks = Array(13)
      .fill(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join('')
    expect(await rawStatus(world.port, `${head}${chunks}0\r\n\r\n`)).toBe(413)
  })

  test('a large body below that passes', async () => {
    const answer = await post({
      ...initialize,
      params: { ...initialize.params, _meta: { padding: 'x'.repeat(11 * 1024 * 1024) } },
    })
    expect(answer.status).toBe(200)
  })

  test('another content type: 415', async () => {
    expect((await post(initialize, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('headers of the stateless era that contradict the body: refused', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'relay_status', _meta: meta } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'relay_status' }
    expect((await post(call, headers)).status).toBe(200)
    expect((await post(call, { ...headers, 'mcp-name': 'relay_who' })).body.error.code).toBe(-32020)
    expect((await post(call, { ...headers, 'mcp-method': 'tools/list' })).body.error.code).toBe(-32020)
  })
})

describe('a session is bound to who opened it', () => {
  const open = async (headers: Record<string, string>) => {
    const response = await fetch(`${world.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...accept, ...headers },
      body: JSON.stringify(initialize),
    })
    await response.text()
    return response.headers.get('mcp-session-id') as string
  }
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }

  test('2025: neither another token, nor the key, nor another name finds it', async () => {
    const id = await open(bearer(ada))
    expect(id).toMatch(/^[0-9a-f]{48}$/)
    const status = async (headers: Record<string, string>) =>
      (await world.post('/mcp', ping, { ...accept, 'mcp-session-id': id, ...headers })).status
    expect(await status(bearer(ada))).toBe(200)
    expect(await status(bearer(bob))).toBe(404)
    expect(await status({})).toBe(404)
    expect(await status(world.as('Ada'))).toBe(404)
    for (const method of ['GET', 'DELETE']) {
      const headers = { ...bearer(bob), accept: 'text/event-stream', 'mcp-session-id': id }
      expect((await fetch(`${world.url}/mcp`, { method, headers })).status).toBe(404)
    }
    expect(await status(bearer(ada))).toBe(200)
    const gone = await fetch(`${world.url}/mcp`, {
      method: 'DELETE',
      headers: { ...bearer(ada), 'mcp-session-id': id },
    })
    expect(gone.status).toBe(200)
    expect(await status(bearer(ada))).toBe(404)
  })

  test('sse: neither another token nor the key can post to it, and it ends with its stream', async () => {
    const stop = new AbortController()
    const stream = await fetch(`${world.url}/sse`, { headers: bearer(ada), signal: stop.signal })
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    const endpoint = /data: (\S+)/.exec(new TextDecoder().decode((await reader.read()).value))?.[1] as string
    expect((await world.post(endpoint, ping, bearer(bob))).status).toBe(404)
    expect((await world.post(endpoint, ping, {})).status).toBe(404)
    expect((await world.post(endpoint, { jsonrpc: '1.0' }, bearer(ada))).status).toBe(400)
    expect((await world.post(endpoint, ping, bearer(ada))).status).toBe(202)
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('"id":2')
    stop.abort()
    await until(async () => (await world.post(endpoint, ping, bearer(ada))).status === 404)
  })
})

test('the daemon had no trouble', () => {
  expect(world.troubles).toEqual([])
})
