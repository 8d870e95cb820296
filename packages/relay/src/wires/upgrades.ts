// The two upgrades of an HTTP connection: `/ws` carries the relay's JSON frames over WebSocket, and `/pipe` the lines of a stdio pipe, the small process
// that an editor starts as its MCP server.
//
// The pipe's handshake, for an editor that reaches the daemon over HTTP (RELAY_BASE_URL) instead of the Unix socket:
//   GET /pipe HTTP/1.1
//   Host: 127.0.0.1:8101
//   Connection: Upgrade
//   Upgrade: agent-relay-pipe
//   Authorization: Bearer <workspace key or agent token>      (not needed if the relay is open)
//   X-Relay-Workspace: <name>                                 (optional)
// The answer is `101 Switching Protocols` with the same Upgrade, or 401, 403 or 404 and {"error":{code,message,details}}.
// From then on the connection carries the same lines as the Unix socket: a HELLO with `mcp`, a WELCOME or ERROR, then MCP lines.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { limits, type RefusalCode, refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { type Callers, queryOf, type Releasable } from './callers.ts'
import { FirstLineReader, readPipeHello } from './first-line.ts'
import { isOwnPage, type PageAccess, type PageLogin } from './page-login.ts'
import { type PipeHandle, servePipe } from './pipe.ts'
import { closingGraceMs, type PortConnections } from './port-connections.ts'
import { helloMs } from './socket.ts'
import type { WebSocketLimits, WebSocketWire } from './websocket.ts'

const pipeProtocol = 'agent-relay-pipe'

export interface UpgradeOptions {
  login: PageLogin
  websocketLimits?: Partial<WebSocketLimits>
  /** Whether this is the port of `agent-relay lift`, which serves MCP, and the page to its owner: no frames for anybody else. */
  isLift?: boolean
}

export class Upgrades {
  readonly #callers: Callers
  readonly #login: PageLogin
  readonly #connections: PortConnections
  readonly #websocketLimits: Partial<WebSocketLimits> | undefined
  readonly #pipes = new Map<Duplex, PipeHandle>()
  #websockets: Promise<WebSocketWire> | undefined
  #madeWebsockets: WebSocketWire | undefined

  readonly #isLift: boolean

  constructor(
    callers: Callers,
    connections: PortConnections,
    { login, websocketLimits, isLift = false }: UpgradeOptions,
  ) {
    this.#callers = callers
    this.#login = login
    this.#connections = connections
    this.#websocketLimits = websocketLimits
    this.#isLift = isLift
  }

  /** Takes over an upgrade request, or throws the refusal to answer instead. */
  async handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { headers, url = '/' } = request
    const path = url.split('?', 1)[0] as string
    const protocol = headers.upgrade?.toLowerCase()
    if (path === '/pipe' && protocol === pipeProtocol) return this.#pipe(request, socket as Socket, head)
    const isPage = queryOf(url).get('page') !== null
    if (this.#isLift && !(path === '/ws' && isPage))
      throw new RefusalError('route.unknown', { path, routes: ['/mcp', '/sse', '/pipe'] })
    if (path !== '/ws' || protocol !== 'websocket')
      throw new RefusalError('route.unknown', { path, routes: ['/ws', '/pipe'] })
    if (isPage) {
      const access = await this.#pageAccess(request)
      releaseAtEnd(socket, access.release)
      return (await this.#loadWebSockets()).upgradePage(request, socket, head, access)
    }
    // A wrong credential in the request's headers is refused at once; a missing one may still come in the client's HELLO.
    const shown = headers.authorization === undefined ? undefined : await this.#callers.identify(headers, url)
    shown?.release()
    const wanted = shown?.dispatch.workspace.name ?? queryOf(url).get('workspace') ?? undefined
    const websockets = await this.#loadWebSockets()
    websockets.upgrade(request, socket, head, shown?.key ?? shown?.token, wanted)
  }

  /**
   * Finds out what the owner's page may access. The page's cookie must prove the login on an open port too, since the page has the rights of the workspace's
   * key.
   */
  async #pageAccess(request: IncomingMessage): Promise<Releasable<PageAccess>> {
    const name = queryOf(request.url ?? '/').get('workspace') ?? undefined
    const access = isOwnPage(request) ? await this.#login.find(request, name) : undefined
    if (!access) throw this.#login.loginRefusal()
    return access
  }

  closeLoggedOutPages(): number {
    return this.#madeWebsockets?.closeLoggedOutPages() ?? 0
  }

  get pending(): number {
    return [...this.#pipes.values()].reduce((sum, { pending }) => sum + pending, this.#madeWebsockets?.pending ?? 0)
  }

  close(reason: RefusalCode): void {
    for (const [socket, pipe] of this.#pipes) {
      pipe.close()
      setTimeout(() => socket.destroy(), closingGraceMs).unref()
    }
    this.#madeWebsockets?.close(reason)
  }

  #loadWebSockets(): Promise<WebSocketWire> {
    this.#websockets ??= import('./websocket.ts').then(({ WebSocketWire }) => {
      this.#madeWebsockets = new WebSocketWire(this.#callers, this.#connections, this.#websocketLimits)
      return this.#madeWebsockets
    })
    return this.#websockets
  }

  async #pipe(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { dispatch, door, key, token, release } = await this.#callers.identify(request.headers, request.url ?? '/')
    releaseAtEnd(socket, release)
    if (socket.destroyed) return
    this.#connections.markAuthenticated(socket)
    socket.setTimeout(0)
    // Node's HTTP server leaves half-closed sockets open, but a stdio pipe whose editor is gone is over.
    socket.on('end', () => socket.end())
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${pipeProtocol}\r\n\r\n`)
    const greeting = setTimeout(() => socket.destroy(), helloMs)
    this.#pipes.set(socket, { pending: 0, close: () => socket.destroy() })
    socket.on('close', () => {
      clearTimeout(greeting)
      this.#pipes.delete(socket)
    })
    const isProven = key !== undefined || token !== undefined
    const first = new FirstLineReader(
      (line, rest) => {
        clearTimeout(greeting)
        socket.removeAllListeners('data')
        socket.pause()
        const hello = readPipeHello(line)
        if (hello === undefined) {
          const error = refusal('frame.invalid', { why: 'HELLO with mcp comes first' })
          return void socket.end(
            `${JSON.stringify({ v: 1, type: 'ERROR', id: 'pipe', ts: Date.now(), payload: error })}\n`,
          )
        }
        void servePipe(dispatch, socket, hello, rest, { door, key, token }).then((pipe) => {
          if (this.#pipes.has(socket)) this.#pipes.set(socket, pipe)
        })
      },
      isProven ? limits.requestBytesMax : limits.helloBytesMax,
    )
    socket.on('data', (chunk: Buffer) => first.push(chunk))
    if (head.length > 0) first.push(head)
  }
}

/** Allows the workspace to be closed once the socket has closed. A session keeps its workspace open; until the connection has a session, the socket does. */
function releaseAtEnd(socket: Duplex, release: () => void): void {
  // The socket may have closed while the workspace was opened.
  if (socket.destroyed) release()
  else socket.once('close', release)
}
