// The JSON frames of the relay's protocol over WebSocket: one WebSocket message is one frame. A browser cannot set headers, so the credential may come in
// HELLO.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Hello, limits, type RefusalCode } from '@agent-relay/sdk/protocol'
import { messageFor } from '@agent-relay/sdk/protocol/refusals'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { SessionService } from '../broker/call.ts'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import type { Callers } from './callers.ts'
import { Connection, type ConnectionHandler, type LineCarrier } from './connection.ts'
import type { PageAccess } from './page-login.ts'
import { closingGraceMs, type PortConnections } from './port-connections.ts'
import { helloMs } from './socket.ts'

const newline = Buffer.from('\n')
const loggedOut = 'this page was logged out.'

export interface WebSocketLimits {
  helloMs: number
  stalledMs: number
}

/** Wraps a service so that refusals are worded for people: the page has no texts of its own. */
function wordedForPerson(service: SessionService): SessionService {
  return {
    ...service,
    call: (...asked) =>
      service.call(...asked).catch((error: unknown) => {
        const refused = toRefusal(error)
        throw new RefusalError({ ...refused, message: messageFor('person', refused) })
      }),
  }
}

export class WebSocketWire {
  readonly #callers: Callers
  readonly #connections: PortConnections
  readonly #limits: WebSocketLimits
  readonly #open = new Map<WebSocket, Connection>()
  readonly #pages = new Map<WebSocket, PageAccess>()
  // Compression is off: it costs memory for each connection, and a small message could unpack to a huge one.
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: limits.lineBytesMax, perMessageDeflate: false })

  constructor(callers: Callers, connections: PortConnections, given: Partial<WebSocketLimits> = {}) {
    this.#callers = callers
    this.#connections = connections
    this.#limits = { helloMs, stalledMs: limits.stalledMs, ...given }
  }

  /** Upgrades a request to WebSocket. `shown` is the credential in the request's own headers, if any; `wanted` is the workspace that the request named. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, shown?: string, wanted?: string): void {
    const handler = this.#handlerFor(shown, wanted)
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#accept(ws, request.socket, handler))
  }

  /** Upgrades a request of the owner's page to WebSocket: the person acts with the rights of the workspace's key, whatever the page says of itself. */
  upgradePage(request: IncomingMessage, socket: Duplex, head: Buffer, access: PageAccess): void {
    const { dispatch, key, human, isValid } = access
    const handler: ConnectionHandler = {
      hello: async ({ session, calls }: Hello) => {
        // The cookie may have ended after it was checked, and before this page was registered in `#pages`.
        if (!isValid()) throw new RefusalError('auth.revoked', { why: loggedOut })
        const hello: Hello = { name: human, type: 'human', key, session, calls }
        return wordedForPerson(await dispatch.serve({ door: 'network', kind: 'program', isPage: true }, hello))
      },
    }
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#pages.set(ws, access)
      ws.on('close', () => this.#pages.delete(ws))
      this.#accept(ws, request.socket, handler)
    })
  }

  /** Closes the connections of pages whose cookie is no longer good, whichever workspace they show. */
  closeLoggedOutPages(): number {
    const ended = [...this.#pages].filter(([, { isValid }]) => !isValid())
    for (const [ws] of ended) this.#open.get(ws)?.close('auth.revoked', { why: loggedOut })
    return ended.length
  }

  get pending(): number {
    return [...this.#open.values()].reduce((sum, { pending }) => sum + pending, 0)
  }

  close(reason: RefusalCode): void {
    for (const connection of this.#open.values()) connection.close(reason)
  }

  #handlerFor(shown: string | undefined, wanted: string | undefined): ConnectionHandler {
    return {
      hello: async (hello: Hello) => {
        const found = await this.#callers.find(hello.key ?? hello.token ?? shown, wanted)
        const { dispatch, door, key, token } = found
        try {
          return await dispatch.serve(door, { ...hello, key, token: hello.token ?? token })
        } finally {
          found.release()
        }
      },
    }
  }

  /** Wraps a handler so that the connection counts among those of authenticated callers from its WELCOME on. */
  #markAuthenticated(socket: Socket, handler: ConnectionHandler): ConnectionHandler {
    return {
      hello: async (hello) => {
        const service = await handler.hello(hello)
        try {
          this.#connections.markAuthenticated(socket)
        } catch (error) {
          service.leave()
          throw error
        }
        return service
      },
    }
  }

  #accept(ws: WebSocket, socket: Socket, handler: ConnectionHandler): void {
    const { helloMs, stalledMs } = this.#limits
    const carrier = new WebSocketCarrier(ws, socket, stalledMs, {
      stalled: () => connection.close('session.stalled', { seconds: stalledMs / 1000 }),
      drained: () => connection.drained(),
    })
    const connection = new Connection(this.#markAuthenticated(socket, handler), carrier, ws)
    this.#open.set(ws, connection)
    limitBytesUntilGreeted(ws, socket, connection)
    const greeting = setTimeout(() => connection.hasGreeted || ws.terminate(), helloMs)
    ws.on('message', (data) => {
      connection.push(bytesOf(data))
      connection.push(newline)
    })
    ws.on('error', () => ws.terminate())
    ws.on('close', () => {
      clearTimeout(greeting)
      carrier.closed()
      connection.cleanUp()
      this.#open.delete(ws)
    })
  }
}

/**
 * Limits the bytes before HELLO is answered, on the socket itself: `ws` collects the pieces of a message up to the maximum message size, 12 MiB, and that limit
 * is the same for all its connections.
 */
function limitBytesUntilGreeted(ws: WebSocket, socket: Socket, connection: Connection): void {
  const bytesMax = limits.helloBytesMax
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (connection.hasGreeted) socket.off('data', count)
    else if (bytes > bytesMax) {
      socket.off('data', count)
      connection.close('frame.too-large', { bytesMax })
      // Further bytes are not read; the connection ends once the client had time to read the refusal.
      ws.pause()
    }
  }
  socket.prependListener('data', count)
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

/** Writes lines to a WebSocket; counts the bytes that the client has not read yet, and reports a client that does not read. */
class WebSocketCarrier implements LineCarrier {
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #stalledMs: number
  readonly #told: { stalled(): void; drained(): void }
  #stall: NodeJS.Timeout | undefined
  #isCorked = false

  constructor(ws: WebSocket, socket: Socket, stalledMs: number, told: { stalled(): void; drained(): void }) {
    this.#ws = ws
    this.#socket = socket
    this.#stalledMs = stalledMs
    this.#told = told
  }

  write(line: string, flushed?: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#cork()
    this.#ws.send(line.trimEnd(), (error) => {
      if (error) return
      flushed?.()
      if (this.#stall && this.isReady()) this.#resume()
    })
    if (!this.isReady()) this.#stall ??= setTimeout(this.#told.stalled, this.#stalledMs)
  }

  /** Sends everything written in one turn of the event loop in one system call: a page that catches up gets many events in a turn. */
  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#socket.cork()
    process.nextTick(() => {
      this.#isCorked = false
      this.#socket.uncork()
    })
  }

  isReady(): boolean {
    return this.#ws.bufferedAmount < limits.waitingBytesMax
  }

  end(): void {
    this.#ws.resume()
    this.#ws.close(1000)
    const farewell = setTimeout(() => this.#ws.terminate(), closingGraceMs)
    farewell.unref()
    this.#ws.once('close', () => clearTimeout(farewell))
  }

  closed(): void {
    clearTimeout(this.#stall)
  }

  #resume(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#told.drained()
  }
}
