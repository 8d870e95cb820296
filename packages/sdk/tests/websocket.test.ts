// The link over WebSocket without a relay at the other end: it says so, in every version of Node and in a browser's own WebSocket.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { DaemonNotRunningError } from '../src/index.ts'
import { websocketConnector as browsers } from '../src/links/websocket.ts'
import { type WebSocketLike, websocketConnector } from '../src/wire.ts'

/** Nothing listens there, and a browser's WebSocket refuses it without trying. */
const nowhere = 'http://127.0.0.1:1'

it('connecting fails at once when nobody listens', async () => {
  await expect(websocketConnector(nowhere)({})).rejects.toThrow(DaemonNotRunningError)
})

it.runIf('WebSocket' in globalThis)('nobody listens, by the platform’s own', async () => {
  await expect(browsers(nowhere)({})).rejects.toMatchObject({ code: 'connection.lost' })
})

it('a socket that fails before anybody awaits it is still reported', async () => {
  const open = (): WebSocketLike => {
    const socket: WebSocketLike = {
      ...{ readyState: 0, onopen: null, onmessage: null, onclose: null, onerror: null },
      send() {},
      close() {},
    }
    queueMicrotask(() => socket.onerror?.({ message: 'blocked' } as never))
    return socket
  }
  await expect(browsers(nowhere, { open })({})).rejects.toThrow('blocked')
})

it('connecting fails when somebody listens and does not answer', async () => {
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  try {
    await expect(websocketConnector(`http://127.0.0.1:${port}`)({})).rejects.toThrow('did not answer')
  } finally {
    silent.close()
  }
})
