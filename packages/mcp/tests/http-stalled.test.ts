// A stream of events whose reader does not read: little is kept for it, it is cut off after a while, and no message is lost.

import { connect } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/until.ts'
import { HttpWorld } from '../../relay/tests/wires/http-world.ts'
import { boundedResponse } from '../src/http/bounded-stream.ts'

const limits = { waitingBytesMax: 100_000, stalledMs: 1_000 }
let world: HttpWorld
beforeEach(async () => {
  world = await HttpWorld.start({ mcpLimits: limits })
})
afterEach(async () => {
  vi.useRealTimers()
  await world.stop()
})

/** The test moves the clock. */
const stopClock = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

/** A source that has so many pieces, counts what was taken of it, and has no end. */
function endless(piece: Uint8Array, count: number) {
  const seen = { pieces: 0, isCancelled: false }
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (seen.pieces === count) return new Promise(() => {})
      seen.pieces++
      controller.enqueue(piece)
    },
    cancel() {
      seen.isCancelled = true
    },
  })
  const response = new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  return { response, seen }
}

test('a reader that takes nothing is cut off when its time is over', async () => {
  stopClock()
  const { response, seen } = endless(new Uint8Array(10_000), 20)
  const reader = (boundedResponse(response, limits).body as ReadableStream<Uint8Array>).getReader()
  await until(() => seen.pieces === 20)
  vi.advanceTimersByTime(limits.stalledMs - 1)
  expect(seen.isCancelled).toBe(false)
  vi.advanceTimersByTime(1)
  expect(seen.isCancelled).toBe(true)
  // What waited is dropped: the stream ends.
  expect(await reader.read()).toEqual({ done: true, value: undefined })
})

test('one that reads, however slowly, gets everything in order', async () => {
  const pieces = Array.from({ length: 40 }, (_, i) => new Uint8Array(10_000).fill(i))
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  const response = new Response(source, { headers: { 'content-type': 'text/event-stream' } })
  const seen: number[] = []
  stopClock()
  for await (const piece of boundedResponse(response, limits).body as unknown as AsyncIterable<Uint8Array>) {
    seen.push(piece[0] as number)
    // In all far longer than a reader that takes nothing is given.
    vi.advanceTimersByTime(limits.stalledMs - 1)
  }
  expect(seen).toEqual(pieces.map(([first]) => first))
})

test('over 2025: events without end for a stream that nobody reads', async () => {
  const headers = { ...world.as('Ada'), accept: 'application/json, text/event-stream' }
  const post = (body: object, more: Record<string, string> = {}) =>
    fetch(`${world.url}/mcp?tools=workspace`, {
      method: 'POST',
      headers: { ...headers, ...more, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const clientInfo = { name: 'deaf', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
  await (await post({ method: 'notifications/initialized' }, session)).text()
  const socket = connect(world.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const lines = Object.entries({ host: new URL(world.url).host, ...headers, ...session, accept: 'text/event-stream' })
  socket.write(`GET /mcp?tools=workspace HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  const asked = { name: 'subscribe_events', arguments: { types: ['message.created'] } }
  expect(await (await post({ id: 2, method: 'tools/call', params: asked }, session)).text()).toContain(
    '\\"pushed\\":true',
  )
  // Far more than the sockets between them hold.
  const body = 'x'.repeat(32_000)
  for (let i = 0; i < 30; i++)
    await Promise.all(
      Array.from({ length: 15 }, () => world.api('message.send', { to: '#general', body }, world.as('Ada'))),
    )
  // A session has one such stream: when the daemon has cut it off, another one may be opened.
  await until(async () => {
    const stop = new AbortController()
    const wanted = { headers: { ...headers, ...session, accept: 'text/event-stream' }, signal: stop.signal }
    const { status } = await fetch(`${world.url}/mcp?tools=workspace`, wanted)
    stop.abort()
    expect([200, 409]).toContain(status)
    return status === 200
  })
  // It reads on: what the sockets held still comes, then the stream's end. The rest was not kept for it.
  let bytes = 0
  let tail = ''
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    tail = (tail + chunk.subarray(-16).toString('latin1')).slice(-16)
  })
  socket.resume()
  await until(() => tail.endsWith('0\r\n\r\n') || socket.destroyed)
  expect(bytes).toBeLessThan(30 * 15 * body.length)
  const status = { name: 'workspace_status', arguments: {} }
  expect((await post({ id: 3, method: 'tools/call', params: status }, session)).status).toBe(200)
})
