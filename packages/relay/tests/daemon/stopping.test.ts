// A daemon that stops waits for nobody: a connection that has said nothing, is being greeted, or does not hang up, whichever way it came.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { guardMs } from '../../../../test/guard.ts'
import { isWithin } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { helloMs } from '../../src/wires/socket.ts'

let dataDir: string
let daemon: Daemon
let client: Socket | undefined
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-stopping-'))
  const credentialsPath = join(dataDir, 'credentials.json')
  const http = { port: 0, isOpen: true, home: 'app' }
  const options = { dataDir, credentialsPath, initialWorkspaces: ['app'], http, onTrouble() {}, onStop() {} }
  daemon = (await Daemon.start(options)) as Daemon
  // A greeting has all the time there is: whoever waits for its end waits for ever.
  const after = globalThis.setTimeout
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) =>
    after(work, ms < helloMs ? ms : 10 * guardMs)) as typeof setTimeout)
})
afterEach(async () => {
  vi.restoreAllMocks()
  client?.destroy()
  await daemon.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** It never hangs up by itself. */
async function opened(to: { path: string } | { port: number; host: string }, ...texts: string[]): Promise<Socket> {
  const socket = connect({ ...to, allowHalfOpen: true })
  socket.on('error', () => {})
  client = socket
  await once(socket, 'connect')
  for (const text of texts) socket.write(text)
  return socket
}

const hello = (payload: object) => `${JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload })}\n`
const pipeHello = hello({ mcp: { pipe: 'pipe-of-a-test', name: 'Ann' } })
const port = () => ({ port: Number(new URL(daemon.url as string).port), host: '127.0.0.1' })
const upgrade = (path: string, protocol: string, ...more: string[]) => {
  const head = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port().port}`, 'Connection: Upgrade', `Upgrade: ${protocol}`]
  return `${[...head, ...more].join('\r\n')}\r\n\r\n`
}
const websocket = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
const workspace = () => ({ path: socketPathOf(dataDir, 'app') })
const heard = async (socket: Promise<Socket>) => void (await once(await socket, 'data'))

test.each<[string, () => Promise<unknown>]>([
  ['the control socket, silent', () => opened({ path: controlSocketPath(dataDir) })],
  ['a workspace, silent', () => opened(workspace())],
  ['half a HELLO', () => opened(workspace(), '{"v":1,"type":"HEL')],
  ['a HELLO on its way', () => opened(workspace(), hello({ name: 'Ann' }))],
  ["a pipe's HELLO on its way", () => opened(workspace(), pipeHello)],
  ['a session that does not hang up', () => heard(opened(workspace(), hello({ name: 'Ann' })))],
  ['a pipe that does not hang up', () => heard(opened(workspace(), pipeHello))],
  ['the port, silent', () => opened(port())],
  ['half a request', () => opened(port(), 'GET /api/agent.list HTTP/1.1\r\n')],
  ['an upgrade on its way', () => opened(port(), upgrade('/ws', 'websocket', ...websocket))],
  ['a WebSocket, silent', () => heard(opened(port(), upgrade('/ws', 'websocket', ...websocket)))],
  ['a refused upgrade', () => heard(opened(port(), upgrade('/none', 'websocket', ...websocket)))],
  ['a pipe over HTTP, silent', () => heard(opened(port(), upgrade('/pipe', 'agent-relay-pipe')))],
  ['a pipe over HTTP on its way', () => opened(port(), upgrade('/pipe', 'agent-relay-pipe'), pipeHello)],
])('%s', async (_, come) => {
  await come()
  expect(await isWithin(guardMs, daemon.stop())).toBe(true)
})
