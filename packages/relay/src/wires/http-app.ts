// The routes of the HTTP port, mounted with Hono and loaded with the first request that needs one. guard.ts has checked each request before.

import type { HttpExchange, McpHttpLimits, RelaySession } from '@agent-relay/mcp/http'
import { refusal } from '@agent-relay/sdk/protocol'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono, type Next } from 'hono'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import { Api, type ApiLimits, mountApi, mountPayloadLinks } from './api.ts'
import { bearerTokenOf, type Callers, type Principal } from './callers.ts'
import type { InProcessLink } from './in-process.ts'
import { defaultToolset, openMcpSession } from './mcp-session.ts'
import { collectMetrics, type MetricFamily, metricsText, metricsType, type OwnerMetrics } from './metrics.ts'
import { mountPage, type PageOptions } from './page.ts'
import { type HttpEnv, isJsonType, refusalResponse, whenResponseSent } from './requests.ts'

export interface HttpAppOptions extends PageOptions {
  mcpLimits?: Partial<McpHttpLimits>
  apiLimits?: ApiLimits
  /** Whether this is the port of `agent-relay lift`, which serves only MCP, and the page to its owner. */
  isLift?: boolean
  ownerMetrics: OwnerMetrics
  onFault(error: Error): void
}

export interface HttpApp {
  listener: ReturnType<typeof getRequestListener>
  readonly pending: number
  close(): void
}

const liftRoutes = ['/', '/mcp', '/sse', '/messages', '/pipe', '/healthz', '/readyz']
export const httpRoutes = [
  ...['/', '/mcp', '/sse', '/messages', '/api/<operation>', '/api/agents', '/ws', '/pipe'],
  ...['/healthz', '/readyz', '/metrics'],
]

/** The HTTP methods of each route. Any other method has a refusal of its own, because 404 would say that the route does not exist. */
const methods = {
  '/mcp': ['GET', 'POST', 'DELETE'],
  '/sse': ['GET'],
  '/messages': ['POST'],
  '/api/agents': ['GET', 'POST'],
  '/api/agents/:id': ['GET'],
  '/api/agents/:id/stop': ['POST'],
  '/api/agents/:id/payload': ['GET'],
  '/api/:operation': ['POST'],
  '/session': ['GET', 'POST', 'DELETE'],
  '/overview': ['GET'],
  '/metrics': ['GET'],
  '/demo': ['POST'],
}

export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { callers, connections, mcpLimits, apiLimits, isLift = false, onFault } = options
  const app = new Hono<HttpEnv>()
  const api = new Api(apiLimits)
  const links = new Set<InProcessLink>()
  const mcp = lazily(async () => new (await import('@agent-relay/mcp/http')).McpHttp(mcpLimits))
  const identify = async (c: Context<HttpEnv>, next: Next) => {
    c.set('left', whenResponseSent(c))
    const { release, ...principal } = await callers.identify(c.env.incoming.headers, c.env.incoming.url ?? '/')
    // A stream continues after `next`, so the workspace is released only when the whole answer has left.
    void c.var.left.then(release)
    c.set('principal', principal)
    connections.markAuthenticated(c.env.incoming.socket)
    if (c.req.method === 'POST' && !isJsonType(c.req.header('content-type')))
      throw new RefusalError('media.unsupported')
    await next()
  }
  if (!isLift) mountPayloadLinks(app, callers, connections)
  if (!isLift) mountOwnerMetrics(app, options)
  // Only these paths require a credential. Any other path must answer 404: a client that looks for an OAuth login page must not be asked to log in.
  for (const path of ['/mcp', '/sse', '/messages', ...(isLift ? [] : ['/api/*', '/metrics'])]) app.use(path, identify)
  const exchange = (c: Context<HttpEnv>) => exchangeOf(c, callers, links)
  app.on(methods['/mcp'], '/mcp', async (c) => (await mcp()).serveMcp(exchange(c)))
  app.get('/sse', async (c) => (await mcp()).openSse(exchange(c)))
  app.post('/messages', async (c) => (await mcp()).receiveMessages(exchange(c)))
  if (!isLift) mountApi(app, api)
  if (!isLift) app.get('/metrics', serveMetrics)
  mountPage(app as never, options)
  const served = isLift ? liftRoutes : httpRoutes
  for (const [path, allowed] of Object.entries(methods))
    if (!isLift || path === '/session' || liftRoutes.includes(path)) app.all(path, (c) => refuseMethod(c, allowed))
  app.notFound((c) => refusalResponse(refusal('route.unknown', { path: c.req.path, routes: served })))
  app.onError((error, { env: { incoming } }) => {
    // Reading a body fails when its sender is gone: that is not a failure of the daemon, and must not fill the log.
    const hasLeft = incoming.destroyed && !incoming.complete
    if (!(error instanceof RefusalError) && !hasLeft) onFault(error)
    return refusalResponse(toRefusal(error))
  })
  return {
    listener: getRequestListener(app.fetch, { overrideGlobalObjects: false }),
    get pending() {
      return [...links].reduce((sum, { pending }) => sum + pending, api.pending)
    },
    close: () => {
      api.close()
      void mcp.made?.then((made) => made.close())
    },
  }
}

function exchangeOf(c: Context<HttpEnv>, callers: Callers, links: Set<InProcessLink>): HttpExchange {
  const { principal, left } = c.var
  return { request: c.req.raw, caller: callerOf(principal, callers, links), answerLeft: left }
}

function callerOf(principal: Principal, callers: Callers, links: Set<InProcessLink>): HttpExchange['caller'] {
  const { dispatch, door, agent, key, token } = principal
  const { id, name } = dispatch.workspace
  const proof = token !== undefined ? 'token' : key !== undefined ? 'key' : 'open'
  return {
    principal: JSON.stringify([id, proof, agent]),
    // The caller's identity includes the kind of its credential: a session opened with the workspace's key ends when that key is replaced.
    identity: JSON.stringify([id, proof, agent]),
    onlyTools: defaultToolset(dispatch),
    open: async (kind: 'session' | 'stateless'): Promise<RelaySession> => {
      // The credential is passed even if no agent is named: the session ends when the credential is revoked.
      const hello = { name: agent, key, token }
      const isStateless = kind === 'stateless'
      const origin = { door, isStateless, isProvisional: !isStateless }
      const { link, ...session } = await openMcpSession(dispatch, origin, hello)
      links.add(link)
      void link.closed.then(() => links.delete(link))
      return session
    },
    withAgentToken: (shown) => {
      const found = callers.findOpen(shown, name)
      if (found.owner === undefined) throw new RefusalError('auth.required')
      return callerOf({ ...found, agent: found.owner }, callers, links)
    },
  }
}

/** Serves the metrics of all workspaces to the holder of the key for these metrics. Any other request for metrics goes on to `serveMetrics`. */
function mountOwnerMetrics(app: Hono<HttpEnv>, { connections, ownerMetrics }: HttpAppOptions): void {
  app.get('/metrics', async (c, next) => {
    const { headers, socket } = c.env.incoming
    const credential = bearerTokenOf(headers)
    if (credential === undefined || !ownerMetrics.isKey(credential)) return next()
    connections.markAuthenticated(socket)
    return metricsResponse(await ownerMetrics.collect())
  })
}

/** Serves the metrics of a workspace to the holder of its key only, since they are about every agent. */
async function serveMetrics(c: Context<HttpEnv>): Promise<Response> {
  const { dispatch, key } = c.var.principal
  if (key === undefined) throw new RefusalError('auth.denied', { why: 'the metrics need the key of the workspace.' })
  return metricsResponse(await collectMetrics([dispatch.workspace], dispatch.daemon))
}

function metricsResponse(families: MetricFamily[]): Response {
  const headers = { 'content-type': metricsType, 'cache-control': 'no-store' }
  return new Response(metricsText(families), { headers })
}

function refuseMethod(c: Context<HttpEnv>, allowed: string[]): Response {
  const { method, path } = c.req
  const answer = refusalResponse(refusal('method.unsupported', { method, path, allowed }))
  answer.headers.set('allow', allowed.join(', '))
  return answer
}

function lazily<T>(make: () => Promise<T>): (() => Promise<T>) & { made?: Promise<T> } {
  const get: (() => Promise<T>) & { made?: Promise<T> } = () => {
    get.made ??= make()
    return get.made
  }
  return get
}
