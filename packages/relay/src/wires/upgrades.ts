// What an HTTP connection may become: `/ws`, the socket's envelopes over WebSocket, or `/pipe`, the lines of a stdio pipe.
//
// The pipe's handshake, for a host that reaches the daemon over HTTP (RELAY_BASE_URL) instead of the socket:
//   GET /pipe HTTP/1.1
//   Host: 127.0.0.1:8101
//   Connection: Upgrade
//   Upgrade: agent-relay-pipe
//   Authorization: Bearer <workspace key or agent token>      (left out where the relay is open)
//   X-Relay-Workspace: <name>                                 (optional)
// It is answered with `101 Switching Protocols` and the same Upgrade, or with 401, 403 or 404 and {"error":{code,message,details}}.
// From then on the connection carries what the Unix socket carries: one HELLO line with `mcp`, a WELCOME or ERROR line, MCP lines.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RefusalCode, refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../refusal-error.ts'
import { type Callers, queryOf } from './callers.ts'
import { entryOf, isOwnPage, type PageEntry, type PageLogin } from './page-login.ts'
import { type PipeHandle, servePipe } from './pipe.ts'
import { FirstLine, helloMs, pipeHello } from './socket.ts'
import type { WebSocketLimits, WebSocketWire } from './websocket.ts'

const pipeProtocol = 'agent-relay-pipe'
/** After goodbye, how long the last bytes may take to leave. */
const farewellMs = 1_000

export class Upgrades {
  readonly #callers: Callers
  readonly #login: PageLogin
  readonly #websocketLimits: Partial<WebSocketLimits> | undefined
  readonly #pipes = new Map<Duplex, PipeHandle>()
  #websockets: Promise<WebSocketWire> | undefined
  #madeWebsockets: WebSocketWire | undefined

  constructor(callers: Callers, login: PageLogin, websocketLimits?: Partial<WebSocketLimits>) {
    this.#callers = callers
    this.#login = login
    this.#websocketLimits = websocketLimits
  }

  /** Throws the refusal that is to be answered instead. */
  async take(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { headers, url = '/' } = request
    const path = url.split('?', 1)[0] as string
    const protocol = headers.upgrade?.toLowerCase()
    if (path === '/pipe' && protocol === pipeProtocol) return this.#pipe(request, socket as Socket, head)
    if (path !== '/ws' || protocol !== 'websocket')
      throw new RefusalError('route.unknown', { path, routes: ['/ws', '/pipe'] })
    if (queryOf(url).get('page') !== null) {
      const entry = this.#pageEntry(request)
      return (await this.#loadWebSockets()).upgradePage(request, socket, head, entry)
    }
    // A wrong credential is refused at once; none at all may still come in HELLO.
    const shown = headers.authorization === undefined ? undefined : this.#callers.identify(headers, url)
    const wanted = shown?.dispatch.workspace.name ?? queryOf(url).get('workspace') ?? undefined
    const websockets = await this.#loadWebSockets()
    websockets.upgrade(request, socket, head, shown?.key ?? shown?.token, wanted)
  }

  /** A person's own page, by its cookie or on an open relay. */
  #pageEntry(request: IncomingMessage): PageEntry {
    const entry = isOwnPage(request) ? entryOf(request, this.#login, this.#callers) : undefined
    if (!entry) throw new RefusalError('page.login')
    return entry
  }

  endPages(): number {
    return this.#madeWebsockets?.endPages() ?? 0
  }

  get pending(): number {
    return [...this.#pipes.values()].reduce((sum, { pending }) => sum + pending, this.#madeWebsockets?.pending ?? 0)
  }

  close(reason: RefusalCode): void {
    for (const [socket, pipe] of this.#pipes) {
      pipe.close()
      setTimeout(() => socket.destroy(), farewellMs).unref()
    }
    this.#madeWebsockets?.close(reason)
  }

  #loadWebSockets(): Promise<WebSocketWire> {
    this.#websockets ??= import('./websocket.ts').then(({ WebSocketWire }) => {
      this.#madeWebsockets = new WebSocketWire(this.#callers, this.#websocketLimits)
      return this.#madeWebsockets
    })
    return this.#websockets
  }

  #pipe(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { dispatch, key, token } = this.#callers.identify(request.headers, request.url ?? '/')
    socket.setTimeout(0)
    // Node's HTTP leaves half-closed sockets open; a pipe whose host is gone is over.
    socket.on('end', () => socket.end())
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${pipeProtocol}\r\n\r\n`)
    const greeting = setTimeout(() => socket.destroy(), helloMs)
    this.#pipes.set(socket, { pending: 0, close: () => socket.destroy() })
    socket.on('close', () => {
      clearTimeout(greeting)
      this.#pipes.delete(socket)
    })
    const first = new FirstLine((line, rest) => {
      clearTimeout(greeting)
      socket.removeAllListeners('data')
      socket.pause()
      const hello = pipeHello(line)
      if (hello === undefined) {
        const error = refusal('frame.invalid', { why: 'HELLO with mcp comes first' })
        return void socket.end(
          `${JSON.stringify({ v: 1, type: 'ERROR', id: 'pipe', ts: Date.now(), payload: error })}\n`,
        )
      }
      const entry = { door: 'network', isTrusted: this.#callers.isOpen, key, token } as const
      void servePipe(dispatch, socket, hello, rest, entry).then((pipe) => {
        if (this.#pipes.has(socket)) this.#pipes.set(socket, pipe)
      })
    })
    socket.on('data', (chunk: Buffer) => first.push(chunk))
    if (head.length > 0) first.push(head)
  }
}
