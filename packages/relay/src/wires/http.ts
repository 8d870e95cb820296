// The daemon's HTTP port: listens on loopback, lets in whom the guard lets in, and loads the routes with the first request that needs them.

import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { McpHttpLimits } from '@agent-relay/mcp/http'
import { limits, type Refusal, refusals } from '@agent-relay/sdk/protocol'
import { portOwner } from '../port-owner.ts'
import { RefusalError } from '../refusal-error.ts'
import { version } from '../version.ts'
import type { ApiLimits } from './api.ts'
import { Callers, type Worlds } from './callers.ts'
import { Guard, isLoopback } from './guard.ts'
import type { App } from './http-app.ts'
import type { PageLogin } from './page-login.ts'
import { Upgrades } from './upgrades.ts'
import type { WebSocketLimits } from './websocket.ts'

export interface HttpOptions {
  /** 0: any free one. */
  port: number
  /** Loopback, unless `mayBeRemote` says that more is meant. */
  host?: string
  mayBeRemote?: boolean
  /** No credential is asked for. Only on loopback. */
  isOpen?: boolean
  /** Web pages that may talk to this port, besides its own. */
  allowOrigins?: readonly string[]
  mcpLimits?: Partial<McpHttpLimits>
  apiLimits?: ApiLimits
  websocketLimits?: Partial<WebSocketLimits>
  login: PageLogin
  onFault(error: Error): void
}

const headersMs = 10_000
/** The whole request; 12 MiB take no longer on any network that is worth it. */
const requestMs = 60_000
/** Not a byte either way: longer than the longest wait for a reply. Open streams carry a comment every 15 s. */
const silentMs = limits.waitMsMax + 60_000
/** A connection at rest stays open this long. Node's own 5 s end just when an agent's next call, seconds later, is on its way. */
const restMs = 65_000
const connectionsMax = 2_000
const farewellMs = 1_000
/** A free port that is free on both loopback addresses; the first one found nearly always is. */
const freePortTries = 10

export class HttpWire {
  readonly url: string
  readonly port: number
  readonly #servers: Server[]
  readonly #guard: Guard
  readonly #callers: Callers
  readonly #options: HttpOptions
  readonly #upgrades: Upgrades
  readonly #sockets = new Set<Socket>()
  #app: Promise<App> | undefined
  #made: App | undefined

  private constructor(servers: Server[], port: number, options: HttpOptions, worlds: Worlds) {
    const { host, isOpen = false, allowOrigins } = options
    this.port = port
    this.#servers = servers
    this.#options = options
    this.#guard = new Guard(port, host, allowOrigins)
    this.#callers = new Callers(worlds, isOpen)
    this.#upgrades = new Upgrades(this.#callers, options.login, options.websocketLimits)
    const isAnywhere = host === undefined || host === '0.0.0.0' || host === '::'
    this.url = `http://${isAnywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`
    for (const server of servers) {
      server.on('connection', (socket) => {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
      })
      server.on('request', (request, response) => this.#answer(request, response))
      server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    }
  }

  static async listen(options: HttpOptions, worlds: Worlds): Promise<HttpWire> {
    const { host, mayBeRemote = false, isOpen = false } = options
    if (host !== undefined && !isLoopback(host) && !mayBeRemote)
      throw new RefusalError('bind.denied', { host, why: 'others could reach it. Add --allow-remote if they should.' })
    if (host !== undefined && !isLoopback(host) && isOpen)
      throw new RefusalError('bind.denied', { host, why: '--open is for loopback alone. Leave one of the two out.' })
    const { servers, port } = await listenOn(options.port, host === undefined ? ['127.0.0.1', '::1'] : [host])
    return new HttpWire(servers, port, options, worlds)
  }

  /** Resolves when no call is under way any more. */
  async quiet(): Promise<void> {
    while ((this.#made?.pending ?? 0) + this.#upgrades.pending > 0)
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** The pages that are open lose their connection; without a new code they do not get another. */
  endPages(): number {
    return this.#upgrades.endPages()
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))))
    this.#made?.close()
    this.#upgrades.close('daemon.stopping')
    // Opened ahead by a client and never used: Node does not count these as idle.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    // Answers that are being written get a moment; a client that keeps its connection for later does not.
    const idle = setInterval(() => this.#each((server) => server.closeIdleConnections()), 10)
    const late = setTimeout(() => this.#each((server) => server.closeAllConnections()), farewellMs)
    await closed
    clearInterval(idle)
    clearTimeout(late)
  }

  #each(work: (server: Server) => void): void {
    for (const server of this.#servers) work(server)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const refused = this.#guard.refuse(request)
    if (refused) return sendRefusal(response, refused)
    for (const [name, value] of Object.entries(this.#guard.corsFor(request))) response.setHeader(name, value)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    // Asked often and by programs that want nothing else: it loads nothing.
    if (request.url?.split('?', 1)[0] === '/healthz') return sendJson(response, 200, { ok: true, version })
    void this.#serve(request, response)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { login, mcpLimits, apiLimits, onFault } = this.#options
    this.#app ??= import('./http-app.ts').then(({ createApp }) => {
      this.#made = createApp({ callers: this.#callers, login, mcpLimits, apiLimits, onFault })
      return this.#made
    })
    try {
      await (await this.#app).listener(request, response)
    } catch (error) {
      onFault(error as Error)
      response.destroy()
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const refused = this.#guard.refuse(request)
    if (refused) return sendRaw(socket, refused)
    this.#upgrades.take(request, socket, head).catch((error) => {
      if (error instanceof RefusalError) return sendRaw(socket, error.refusal)
      this.#options.onFault(error)
      socket.destroy()
    })
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** What was sent along is not read: the connection ends with the answer. */
function sendRefusal(response: ServerResponse, { code, message, details }: Refusal): void {
  response.setHeader('connection', 'close')
  sendJson(response, refusals[code].http, { error: { code, message, details } })
}

function sendRaw(socket: Duplex, { code, message, details }: Refusal): void {
  const status = refusals[code].http
  const body = JSON.stringify({ error: { code, message, details } })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

async function listenOn(port: number, hosts: string[]): Promise<{ servers: Server[]; port: number }> {
  for (let tries = 1; ; tries++) {
    const servers: Server[] = []
    let chosen = port
    try {
      for (const host of hosts) {
        const server = await listenAt(chosen, host)
        if (server) servers.push(server)
        const address = server?.address()
        if (typeof address === 'object' && address) chosen = address.port
      }
      if (servers.length === 0) throw new RefusalError('bind.denied', { host: hosts.join(), why: 'no such address.' })
      return { servers, port: chosen }
    } catch (error) {
      for (const server of servers) server.close()
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      if (port !== 0 || tries === freePortTries)
        throw new RefusalError('port.taken', { port: chosen, owner: portOwner(chosen), next: chosen + 1 })
    }
  }
}

/** Undefined where the machine has no such address: one without IPv6 has no ::1. */
function listenAt(port: number, host: string): Promise<Server | undefined> {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 5_000,
  })
  server.timeout = silentMs
  server.keepAliveTimeout = restMs
  server.maxConnections = connectionsMax
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isAbsent = host === '::1' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT')
      if (isAbsent) resolve(undefined)
      else reject(error)
    })
    server.listen({ port, host, ipv6Only: host === '::1' }, () => resolve(server))
  })
}
