// The daemon's HTTP port: listens on loopback, admits requests that pass the guard (guard.ts), and loads the routes with the first request that needs them.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { McpHttpLimits } from '@agent-relay/mcp/http'
import { limits, type OutputOf, type Refusal, refusals } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { lacksIpv6, loopbackAddresses } from '../machine/http-port.ts'
import { isLoopback } from '../machine/loopback.ts'
import { portOwner } from '../machine/port-owner.ts'
import { versionWithBuildId } from '../machine/version.ts'
import type { ApiLimits } from './api.ts'
import { Callers, type ServedWorkspaces } from './callers.ts'
import { RequestGuard } from './guard.ts'
import type { HttpApp } from './http-app.ts'
import type { OwnerMetrics } from './metrics.ts'
import type { PageLogin } from './page-login.ts'
import { type ConnectionLimits, closingGraceMs, PortConnections } from './port-connections.ts'
import { Upgrades } from './upgrades.ts'
import type { WebSocketLimits } from './websocket.ts'

// An `import` would read all exports of `node:http`, and so make Node 22 and newer load fetch, WebSocket and HTTP/2 as well: 12 MB.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

export interface HttpOptions {
  /** The port to listen on; 0 stands for any free port. */
  port: number
  /** The address to listen on, which must be loopback unless `mayBeRemote` is set. Unset if the port listens on both loopback addresses. */
  host?: string
  mayBeRemote?: boolean
  /** Whether no credential is required; allowed on loopback only. */
  isOpen?: boolean
  /**
   * The address under which a browser reaches this port, as `http://HOST[:PORT]`. Unset if that is the port's own address. A port inside a container has
   * another address outside.
   */
  pageUrl?: string
  /** The command that prints a link to the page. Unset if that is `dashboard` without options. */
  linkCommand?: string
  /** The name under which a person types our commands in any directory. Unset if that is `agent-relay`. */
  ownName?: string
  /** Origins of web pages that may talk to this port, besides its own page. */
  allowOrigins?: readonly string[]
  mcpLimits?: Partial<McpHttpLimits>
  apiLimits?: ApiLimits
  websocketLimits?: Partial<WebSocketLimits>
  connectionLimits?: Partial<ConnectionLimits>
  /** Whether this is the port of `agent-relay lift`, which serves only MCP, and the page to its owner. */
  isLift?: boolean
  login: PageLogin
  /** Whether the workspace that the daemon was started for can be reached. */
  isReady(): Promise<boolean>
  /** Plays the demo, in the workspace `here` or in one of its own, and returns the workspace's name. Unset on the port of `agent-relay lift`, which has no demo. */
  playDemo?(here?: string): Promise<string>
  /** What happens in each workspace, for the person on the page. */
  overview(workspaces: readonly string[]): Promise<OutputOf<'workspace.overview'>>
  /** The metrics of all workspaces. */
  ownerMetrics: OwnerMetrics
  onFault(error: Error): void
}

/** Time within which a request's headers must be complete: only a few unauthenticated connections may wait at once, so none may be slow. */
const headersMs = 10_000
/** Time within which a whole request must be complete, enough for 12 MiB on any usual network. */
const requestMs = 60_000
/** Time without a byte either way after which a connection ends: longer than the longest wait for a reply; streams carry a comment every 15 s. */
const silentMs = limits.waitMsMax + 60_000
/** How long an idle connection stays open. Node's default of 5 s often ends it just when an agent's next call is on its way. */
const keepAliveMs = 65_000
/** Maximum number of attempts to find a port that is free on both loopback addresses; the first nearly always is. */
const freePortTries = 10

export class HttpWire {
  readonly url: string
  readonly port: number
  readonly #servers: Server[]
  readonly #guard: RequestGuard
  readonly #callers: Callers
  readonly #options: HttpOptions
  readonly #upgrades: Upgrades
  readonly #connections: PortConnections
  #app: Promise<HttpApp> | undefined
  #made: HttpApp | undefined

  private constructor(servers: Server[], port: number, options: HttpOptions, served: ServedWorkspaces) {
    const { host, isOpen = false, allowOrigins, pageUrl } = options
    this.port = port
    this.#servers = servers
    this.#options = options
    this.#guard = new RequestGuard(port, host, allowOrigins, pageUrl)
    this.#callers = new Callers(served, isOpen)
    this.#connections = new PortConnections(options.connectionLimits)
    this.#upgrades = new Upgrades(this.#callers, this.#connections, options)
    const isAnywhere = host === undefined || host === '0.0.0.0' || host === '::'
    this.url = `http://${isAnywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`
    for (const server of servers) {
      // Emitted if a connection could not be accepted, for example because no file descriptor is left. Other connections go on.
      server.on('error', () => {})
      server.on('connection', (socket) => this.#connections.add(socket))
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

  /** Resolves when no call on this port is under way any more. */
  async waitUntilIdle(): Promise<void> {
    while ((this.#made?.pending ?? 0) + this.#upgrades.pending > 0)
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** Closes the connections of pages whose login cookie has ended; without a new login code these pages cannot connect again. */
  closeLoggedOutPages(): number {
    return this.#upgrades.closeLoggedOutPages()
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
    const late = setTimeout(() => this.#connections.destroyAll(), closingGraceMs)
    await closed
    clearInterval(idle)
    clearTimeout(late)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.once('close', this.#connections.beginRequest(request.socket))
    const refused = this.#guard.refusalFor(request)
    if (refused) return sendRefusal(response, refused)
    for (const [name, value] of Object.entries(this.#guard.corsHeadersFor(request))) response.setHeader(name, value)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    // Health checks come often, so they are answered without loading the routes.
    const path = request.url?.split('?', 1)[0]
    if (path === '/healthz') return sendJson(response, 200, { ok: true, version: versionWithBuildId })
    if (path === '/readyz') return void this.#answerReadiness(response)
    void this.#serve(request, response)
  }

  async #answerReadiness(response: ServerResponse): Promise<void> {
    if (await this.#options.isReady()) return sendJson(response, 200, { ok: true, version: versionWithBuildId })
    response.setHeader('retry-after', '1')
    sendJson(response, 503, { ok: false, version: versionWithBuildId, why: 'the workspace is not open yet' })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { login, mcpLimits, apiLimits, isLift, playDemo, overview, ownName, ownerMetrics, onFault } = this.#options
    this.#app ??= import('./http-app.ts').then(({ createHttpApp }) => {
      const connections = this.#connections
      const page = { callers: this.#callers, connections, login, playDemo, overview, ownName }
      this.#made = createHttpApp({ ...page, mcpLimits, apiLimits, isLift, ownerMetrics, onFault })
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
    // An upgraded connection counts as a request that never ends, so it is never dropped as idle.
    this.#connections.beginRequest(request.socket)
    const refused = this.#guard.refusalFor(request)
    if (refused) return sendRawRefusal(socket, refused)
    this.#upgrades.handle(request, socket, head).catch((error) => {
      if (error instanceof RefusalError) return sendRawRefusal(socket, error.refusal)
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

function sendRawRefusal(socket: Duplex, { code, message, details }: Refusal): void {
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

/** Listens on one address. Undefined if the machine has no such address. */
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
      if (lacksIpv6(host, error.code)) resolve(undefined)
      else reject(error)
    })
    server.listen({ port, host, ipv6Only: host === '::1' }, () => resolve(server))
  })
}
