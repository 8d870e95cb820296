// The daemon's HTTP port: listens on loopback, admits requests that pass the guard, and loads the routes with the first request that needs them.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { McpHttpLimits } from '@agent-relay/mcp/http'
import { limits, type Refusal, refusals } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { isAbsent, loopbackAddresses } from '../machine/http-port.ts'
import { isLoopback } from '../machine/loopback.ts'
import { portOwner } from '../machine/port-owner.ts'
import { version } from '../machine/version.ts'
import type { ApiLimits } from './api.ts'
import { Callers, type ServedWorkspaces } from './callers.ts'
import { Guard } from './guard.ts'
import type { App } from './http-app.ts'
import type { PageLogin } from './page-login.ts'
import { type ConnectionLimits, farewellMs, PortConnections } from './port-connections.ts'
import { Upgrades } from './upgrades.ts'
import type { WebSocketLimits } from './websocket.ts'

// An `import` would read all exports of the module, and so make Node 22 and newer load fetch, WebSocket and HTTP/2 as well: 12 MB.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export interface HttpOptions {
  /** 0 stands for any free port. */
  port: number
  /** Loopback, unless `mayBeRemote` says that more is meant. */
  host?: string
  mayBeRemote?: boolean
  /** No credential is required. Only on loopback. */
  isOpen?: boolean
  /** The address under which a browser reaches this port, where that differs from its own: from outside a container. `http://HOST[:PORT]`. */
  pageUrl?: string
  /** The command that prints a link to the page, where that is not `agent-relay dashboard`. */
  linkCommand?: string
  /** Web pages that may talk to this port, besides its own. */
  allowOrigins?: readonly string[]
  mcpLimits?: Partial<McpHttpLimits>
  apiLimits?: ApiLimits
  websocketLimits?: Partial<WebSocketLimits>
  connectionLimits?: Partial<ConnectionLimits>
  /** A lift's port: it serves MCP, and the page to its owner. */
  isLift?: boolean
  login: PageLogin
  /** Whether the workspace that the daemon was started for can be reached. */
  isReady(): Promise<boolean>
  /** Plays the demo in a workspace of its own, and answers that workspace's name. Unset on a lift's port, which has no demo. */
  playDemo?(): Promise<string>
  onFault(error: Error): void
}

/** The headers must be complete within this time: only a few strangers may wait at once, so none may be slow. */
const headersMs = 10_000
/** The whole request must be complete within this time, which is enough for 12 MiB on any usual network. */
const requestMs = 60_000
/** A connection without a byte either way for this long ends. Longer than the longest wait for a reply; streams carry a comment every 15 s. */
const silentMs = limits.waitMsMax + 60_000
/** An idle connection stays open this long. Node's default of 5 s often ends it just when an agent's next call is on its way. */
const keepAliveMs = 65_000
/** Attempts to find a port that is free on both loopback addresses; the first nearly always is. */
const freePortTries = 10

export class HttpWire {
  readonly url: string
  readonly port: number
  readonly #servers: Server[]
  readonly #guard: Guard
  readonly #callers: Callers
  readonly #options: HttpOptions
  readonly #upgrades: Upgrades
  readonly #connections: PortConnections
  #app: Promise<App> | undefined
  #made: App | undefined

  private constructor(servers: Server[], port: number, options: HttpOptions, served: ServedWorkspaces) {
    const { host, isOpen = false, allowOrigins, pageUrl } = options
    this.port = port
    this.#servers = servers
    this.#options = options
    this.#guard = new Guard(port, host, allowOrigins, pageUrl)
    this.#callers = new Callers(served, isOpen)
    this.#connections = new PortConnections(options.connectionLimits)
    this.#upgrades = new Upgrades(this.#callers, this.#connections, options)
    const isAnywhere = host === undefined || host === '0.0.0.0' || host === '::'
    this.url = `http://${isAnywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`
    for (const server of servers) {
      // A connection could not be accepted, for example because no descriptor is left. The others go on.
      server.on('error', () => {})
      server.on('connection', (socket) => this.#connections.take(socket))
      server.on('request', (request, response) => this.#answer(request, response))
      server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    }
  }

  static async listen(options: HttpOptions, served: ServedWorkspaces): Promise<HttpWire> {
    const { host, mayBeRemote = false, isOpen = false } = options
    if (host !== undefined && !isLoopback(host) && !mayBeRemote)
      throw new RefusalError('bind.denied', { host, why: 'others could reach it. Add --allow-remote if they should.' })
    if (host !== undefined && !isLoopback(host) && isOpen)
      throw new RefusalError('bind.denied', { host, why: '--open is for loopback alone. Leave one of the two out.' })
    const isLocal = host === undefined || host === 'localhost'
    const { servers, port } = await listenOn(options.port, isLocal ? loopbackAddresses : [host])
    return new HttpWire(servers, port, options, served)
  }

  /** Resolves when no call is under way any more. */
  async quiet(): Promise<void> {
    while ((this.#made?.pending ?? 0) + this.#upgrades.pending > 0)
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** Closes the connections of pages whose cookie has ended; without a new code they cannot connect again. */
  endPages(): number {
    return this.#upgrades.endPages()
  }

  async close(): Promise<void> {
    const closed = Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))))
    this.#made?.close()
    this.#upgrades.close('daemon.stopping')
    this.#connections.close()
    // Answers that are being written get a moment to finish; idle connections end at once.
    const idle = setInterval(() => {
      for (const server of this.#servers) server.closeIdleConnections()
    }, 10)
    const late = setTimeout(() => this.#connections.end(), farewellMs)
    await closed
    clearInterval(idle)
    clearTimeout(late)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.once('close', this.#connections.use(request.socket))
    const refused = this.#guard.refuse(request)
    if (refused) return sendRefusal(response, refused)
    for (const [name, value] of Object.entries(this.#guard.corsFor(request))) response.setHeader(name, value)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    // Health checks come often, so they are answered without loading the routes.
    const path = request.url?.split('?', 1)[0]
    if (path === '/healthz') return sendJson(response, 200, { ok: true, version })
    if (path === '/readyz') return void this.#sayReady(response)
    void this.#serve(request, response)
  }

  async #sayReady(response: ServerResponse): Promise<void> {
    if (await this.#options.isReady()) return sendJson(response, 200, { ok: true, version })
    response.setHeader('retry-after', '1')
    sendJson(response, 503, { ok: false, version, why: 'the workspace is not open yet' })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { login, mcpLimits, apiLimits, isLift, playDemo, onFault } = this.#options
    this.#app ??= import('./http-app.ts').then(({ createApp }) => {
      const connections = this.#connections
      const page = { callers: this.#callers, connections, login, playDemo }
      this.#made = createApp({ ...page, mcpLimits, apiLimits, isLift, onFault })
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
    // An upgraded connection never counts as idle.
    this.#connections.use(request.socket)
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

/** Answers with a refusal and closes the connection, since the request's body is not read. */
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

async function listenOn(port: number, hosts: readonly string[]): Promise<{ servers: Server[]; port: number }> {
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

/** Listens on one address. Undefined where the machine has no such address. */
function listenAt(port: number, host: string): Promise<Server | undefined> {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 1_000,
  })
  server.timeout = silentMs
  server.keepAliveTimeout = keepAliveMs
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (isAbsent(host, error.code)) resolve(undefined)
      else reject(error)
    })
    server.listen({ port, host, ipv6Only: host === '::1' }, () => resolve(server))
  })
}
