// The routes, mounted with Hono: loaded with the first request that needs one. Who may come in at all was decided before (guard.ts).

import type { Exchange, McpHttpLimits, RelaySession } from '@agent-relay/mcp/http'
import { limits, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono, type Next } from 'hono'
import { RefusalError, refusalOf } from '../refusal-error.ts'
import { mountAgents } from './agents-api.ts'
import { Api, type ApiLimits, failed } from './api.ts'
import { jsonBody } from './body.ts'
import type { Callers, Principal } from './callers.ts'
import type { HttpEnv } from './http-env.ts'
import type { InProcessLink } from './in-process.ts'
import { openMcpSession, toolsetOf } from './mcp-session.ts'
import { mountPage } from './page.ts'
import type { PageLogin } from './page-login.ts'

export interface AppOptions {
  callers: Callers
  login: PageLogin
  mcpLimits?: Partial<McpHttpLimits>
  apiLimits?: ApiLimits
  onFault(error: Error): void
}

export interface App {
  listener: ReturnType<typeof getRequestListener>
  readonly pending: number
  close(): void
}

export const routes = ['/', '/mcp', '/sse', '/messages', '/api/<operation>', '/api/agents', '/ws', '/pipe', '/healthz']

/** What each route takes; anything else is told so, because 404 would say that there is no such route. */
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
}

export function createApp({ callers, login, mcpLimits, apiLimits, onFault }: AppOptions): App {
  const app = new Hono<HttpEnv>()
  const api = new Api(apiLimits)
  const links = new Set<InProcessLink>()
  const mcp = lazily(async () => new (await import('@agent-relay/mcp/http')).McpHttp(mcpLimits))
  const identify = async (c: Context<HttpEnv>, next: Next) => {
    c.set('left', whenLeft(c))
    c.set('principal', callers.identify(c.env.incoming.headers, c.env.incoming.url ?? '/'))
    if (c.req.method === 'POST' && !isJson(c.req.header('content-type'))) throw new RefusalError('media.unsupported')
    await next()
  }
  // Not on all paths: a client that looks for a login page must learn that there is none, and not be asked to log in for that.
  for (const path of ['/mcp', '/sse', '/messages', '/api/*']) app.use(path, identify)
  const exchange = (c: Context<HttpEnv>) => exchangeOf(c, callers, links)
  app.on(methods['/mcp'], '/mcp', async (c) => (await mcp()).mcp(exchange(c)))
  app.get('/sse', async (c) => (await mcp()).sse(exchange(c)))
  app.post('/messages', async (c) => (await mcp()).messages(exchange(c)))
  const ask = (c: Context<HttpEnv>, operation: string, input: unknown) => {
    const { principal, left } = c.var
    const id = c.req.header('x-relay-call-id')
    return api.call(principal, { operation, input, id, abandoned: c.req.raw.signal, left })
  }
  mountAgents(app, ask)
  app.post('/api/:operation', async (c) => {
    const operation = c.req.param('operation')
    // One operation alone carries a payload.
    const bytesMax = operation === 'run.complete' ? limits.lineBytesMax : limits.requestBytesMax
    const { status, body } = await ask(c, operation, await jsonBody(c, operation, bytesMax))
    return Response.json(body, { status })
  })
  mountPage(app as never, { login, callers })
  for (const [path, allowed] of Object.entries(methods)) app.all(path, (c) => otherMethod(c, allowed))
  app.notFound((c) => refused(refusal('route.unknown', { path: c.req.path, routes })))
  app.onError((error) => {
    if (!(error instanceof RefusalError)) onFault(error)
    return refused(refusalOf(error))
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

function exchangeOf(c: Context<HttpEnv>, callers: Callers, links: Set<InProcessLink>): Exchange {
  const { principal, left } = c.var
  return { request: c.req.raw, caller: callerOf(principal, callers, links), left }
}

function callerOf(principal: Principal, callers: Callers, links: Set<InProcessLink>): Exchange['caller'] {
  const { dispatch, agent, key, token } = principal
  const { id, name } = dispatch.workspace
  const proof = token !== undefined ? 'token' : key !== undefined ? 'key' : 'open'
  return {
    principal: JSON.stringify([id, proof, agent]),
    // By proof too: what is opened with the key ends with the key.
    identity: JSON.stringify([id, proof, agent]),
    tools: toolsetOf(dispatch),
    open: async (era: 'session' | 'stateless'): Promise<RelaySession> => {
      // With what was shown, also where nobody is named: the session ends with it.
      const hello = { name: agent, key, token }
      const isStateless = era === 'stateless'
      const isNobody = isStateless && agent === undefined
      const entry = { door: 'network', isTrusted: true, isNobody, isStateless } as const
      const { link, ...session } = await openMcpSession(dispatch, entry, hello)
      links.add(link)
      void link.closed.then(() => links.delete(link))
      return session
    },
    as: (shown) => {
      const found = callers.find(shown, name)
      if (found.owner === undefined) throw new RefusalError('auth.required')
      return callerOf({ ...found, agent: found.owner }, callers, links)
    },
  }
}

/** `finish`: all of the answer was given to the operating system. `close` without it: the caller was gone. */
function whenLeft({ env: { outgoing } }: Context<HttpEnv>): Promise<boolean> {
  return new Promise((resolve) => {
    outgoing.once('finish', () => resolve(true))
    outgoing.once('close', () => resolve(outgoing.writableFinished))
  })
}

function isJson(type: string | undefined): boolean {
  return type !== undefined && /^application\/json\s*(?:;|$)/i.test(type)
}

function otherMethod(c: Context<HttpEnv>, allowed: string[]): Response {
  const { method, path } = c.req
  const answer = refused(refusal('method.unsupported', { method, path, allowed }))
  answer.headers.set('allow', allowed.join(', '))
  return answer
}

export function refused(refusal: Refusal): Response {
  const { status, body } = failed(refusal)
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  // The rest of the request is not waited for, so nothing may follow it on this connection.
  if (status === 413) headers.connection = 'close'
  return Response.json(body, { status, headers })
}

function lazily<T>(make: () => Promise<T>): (() => Promise<T>) & { made?: Promise<T> } {
  const get: (() => Promise<T>) & { made?: Promise<T> } = () => {
    get.made ??= make()
    return get.made
  }
  return get
}
