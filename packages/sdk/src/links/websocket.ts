// The link over WebSocket, for browsers and for programs that reach the relay over HTTP. It has no `node:` import, because browser bundles contain this file.
// Key and token are sent in the HELLO frame, because a browser cannot set a WebSocket's headers.

import { ConnectionError, DaemonNotRunningError } from '../errors.ts'
import { closeTimeoutMs, welcomeTimeoutMs } from '../limits.ts'
import type { Connector } from '../link.ts'
import { FrameError, FrameParser } from '../protocol/frames.ts'
import { limits } from '../protocol/limits.ts'
import { frameRefusal } from '../protocol/refusals/frames.ts'
import { EnvelopeLink, type Outlet } from './envelopes.ts'

/** The part of a WebSocket that browsers and the package `ws` have in common. */
export interface WebSocketLike {
  readonly readyState: number
  send(text: string): void
  close(): void
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
}

export type WebSocketOpener = (url: string) => WebSocketLike | Promise<WebSocketLike>

const isOpen = 1

/**
 * Connects to `url`: the relay's HTTP address (`http://127.0.0.1:8101`), or the address of its `/ws`. `workspace` chooses a workspace at a relay that accepts
 * connections without a key.
 */
export function websocketConnector(
  url: string,
  options: { workspace?: string; open?: WebSocketOpener } = {},
): Connector {
  const { workspace, open = openPlatforms } = options
  const address = addressOf(url, workspace)
  return async (hello) => {
    const made = open(address)
    // Nothing is awaited before the listeners are added: a socket that fails at once reports the failure in the next microtask.
    const socket = await opened(made instanceof Promise ? await made : made, address)
    return overWebSocket(socket).introduce(hello)
  }
}

function addressOf(url: string, workspace: string | undefined): string {
  const address = new URL(url)
  address.protocol = address.protocol.replace('http', 'ws')
  if (address.pathname === '/') address.pathname = '/ws'
  if (workspace !== undefined) address.searchParams.set('workspace', workspace)
  return address.href
}

/** Opens the platform's own WebSocket. Node uses the package `ws` instead: see websocket-node.ts. */
function openPlatforms(url: string): WebSocketLike {
  const { WebSocket: Socket } = globalThis as { WebSocket?: new (url: string) => WebSocketLike }
  if (!Socket) throw new ConnectionError('this platform has no WebSocket: give `open`', { retry: false })
  return new Socket(url)
}

function opened(socket: WebSocketLike, address: string): Promise<WebSocketLike> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const opening = new Promise<WebSocketLike>((resolve, reject) => {
    // A program listens at the address but does not answer: a suspended daemon, or another program.
    timer = setTimeout(() => {
      reject(new ConnectionError(`${address} did not answer within ${welcomeTimeoutMs} ms`))
      socket.close()
    }, welcomeTimeoutMs)
    socket.onopen = () => resolve(socket)
    socket.onerror = (event: { message?: string; error?: { code?: string } }) => {
      const { message = 'refused or unreachable', error } = event
      reject(
        error?.code === 'ECONNREFUSED'
          ? new DaemonNotRunningError(undefined, { details: { url: address } })
          : new ConnectionError(`cannot reach ${address} (${message})`),
      )
    }
    socket.onclose = () => reject(new ConnectionError(`${address} closed the connection`))
  })
  return opening.finally(() => clearTimeout(timer))
}

function overWebSocket(socket: WebSocketLike): EnvelopeLink {
  let isGone: () => void = () => {}
  const gone = new Promise<void>((resolve) => {
    isGone = resolve
  })
  const link = new EnvelopeLink(outletOf(socket, gone))
  const parser = new FrameParser(limits.answerBytesMax)
  const encoder = new TextEncoder()
  socket.onmessage = ({ data }: { data: unknown }) => {
    parser.push(encoder.encode(`${data}\n`))
    try {
      for (let envelope = parser.read(); envelope; envelope = parser.read()) link.receive(envelope)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      // The link is refused and not lost: the next connection would bring the same answer again, so the calls in flight must fail.
      link.refuse(frameRefusal('frame.invalid', { why: `the daemon's answer: ${error.message}` }))
    }
  }
  // Errors need no handling: the event 'close' follows, and ends the link.
  socket.onerror = () => {}
  socket.onclose = () => {
    isGone()
    link.lost('the daemon closed the connection')
  }
  return link
}

function outletOf(socket: WebSocketLike, gone: Promise<void>): Outlet {
  return {
    write(line) {
      if (socket.readyState === isOpen) socket.send(line.trimEnd())
    },
    async close() {
      socket.close()
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, closeTimeoutMs)
      })
      await Promise.race([gone, late])
      clearTimeout(timer)
    },
  }
}
