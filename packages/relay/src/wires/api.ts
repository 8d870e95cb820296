// The HTTP routes below `/api`: one for every operation of the protocol, and `/api/agents` for runs, with the field names of the MCP tools agent_*. A call
// needs no earlier call; sessions that outlive a call are kept by workspace, kind of credential and agent.

import { Keeper } from '@agent-relay/mcp/keeper'
import {
  agentStatusOf,
  type Hello,
  isOperation,
  limits,
  type OperationRule,
  operations,
  type Run,
  refusal,
} from '@agent-relay/sdk/protocol'
import type { Context, Hono } from 'hono'
import type { Dispatch } from '../broker/dispatch.ts'
import { workspaceIdOfLink } from '../broker/runs/payload-links.ts'
import type { Session } from '../broker/sessions/session.ts'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import type { Callers, Principal } from './callers.ts'
import type { PortConnections } from './port-connections.ts'
import { type HttpAnswer, type HttpEnv, jsonBody, refusalAnswer } from './requests.ts'

export interface ApiLimits {
  /** Time without a call, in ms, after which the session that is kept for an agent ends. */
  idleMs: number
  sessionsMax: number
}

export const apiLimits: Readonly<ApiLimits> = { idleMs: 30 * 60_000, sessionsMax: 1_000 }

export interface ApiCall {
  operation: string
  input: unknown
  /** The caller's own id for the call, so that a repeated call runs once. */
  id?: string
  /** Aborted when the caller is gone; a wait for a reply then ends. */
  abandoned: AbortSignal
  /** Resolves to true when the whole answer has been sent, to false if the caller left before. */
  left: Promise<boolean>
}

function needsOwnSession({ operation }: ApiCall): boolean {
  return isOperation(operation) && (operations[operation] as OperationRule).ownSession === true
}

interface KeptSession {
  dispatch: Dispatch
  opening: Promise<Session>
}

export class Api {
  readonly #sessions: Keeper<KeptSession>
  pending = 0

  constructor({ idleMs, sessionsMax }: ApiLimits = apiLimits) {
    this.#sessions = new Keeper({ idleMs, countMax: sessionsMax, end })
  }

  async call(principal: Principal, call: ApiCall): Promise<HttpAnswer> {
    this.pending++
    try {
      if (needsOwnSession(call)) return await this.#callOnce(principal, call)
      // The map key of a session includes the kind of its credential: a session opened with the workspace's key ends when that key is replaced.
      const proof = principal.token !== undefined ? 'token' : principal.key !== undefined ? 'key' : 'open'
      const key = `${principal.dispatch.workspace.id}/${proof}/${principal.agent ?? ''}`
      const kept = this.#sessions.get(key) ?? this.#open(key, principal)
      void call.left.then(this.#sessions.markInUse(key))
      return await answerCall(principal.dispatch, await kept.opening, call)
    } catch (error) {
      return refusalAnswer(toRefusal(error))
    } finally {
      this.pending--
    }
  }

  close(): void {
    this.#sessions.clear()
  }

  #open(key: string, principal: Principal): KeptSession {
    const kept = { dispatch: principal.dispatch, opening: open(principal) }
    if (!this.#sessions.put(key, kept)) {
      end(kept)
      throw new RefusalError('fault', { why: 'too many callers at once; try again.' })
    }
    const drop = () => this.#sessions.endNow(key, kept)
    kept.opening.then(({ ended }) => ended.addEventListener('abort', drop), drop)
    return kept
  }

  async #callOnce(principal: Principal, call: ApiCall): Promise<HttpAnswer> {
    const session = await open(principal)
    try {
      return await answerCall(principal.dispatch, session, call)
    } finally {
      principal.dispatch.workspace.sessions.end(session)
    }
  }
}

/** Ends a session, once it is open. */
function end({ dispatch, opening }: KeptSession): void {
  const { sessions } = dispatch.workspace
  void opening.then(
    (session) => sessions.end(session),
    () => {},
  )
}

/**
 * Opens a session for a caller. If the caller names an agent, the session acts only as that agent, since all who may act as that agent share the session.
 * Otherwise the session has the rights of the credential.
 */
async function open({ dispatch, door, agent, key, token }: Principal): Promise<Session> {
  const hello: Hello = { name: agent, key, token }
  return (await dispatch.openSession({ door, kind: 'program', isStateless: true }, hello)).session
}

async function answerCall(dispatch: Dispatch, session: Session, call: ApiCall): Promise<HttpAnswer> {
  const { operation, input, abandoned, left } = call
  const id = call.id ?? dispatch.workspace.ids('c')
  if (!/^[\x21-\x7e]+$/.test(id) || id.length > limits.idCharsMax)
    throw new RefusalError('input.invalid', {
      operation: 'X-Relay-Call-Id',
      why: `an id is 1 to ${limits.idCharsMax} characters`,
    })
  const signal = AbortSignal.any([session.ended, abandoned])
  const { output, handedMessages } = await dispatch.call(session, operation, input, id, signal)
  if (handedMessages)
    void left.then((hasLeft) =>
      hasLeft ? dispatch.markReceived(session, handedMessages) : dispatch.releaseLost(session, handedMessages),
    )
  return { status: 200, body: output as object }
}

/** Mounts the routes `POST /api/<operation>` and `/api/agents`. */
export function mountApi(app: Hono<HttpEnv>, api: Api): void {
  const ask: AskApi = (c, operation, input) => {
    const { principal, left } = c.var
    const id = c.req.header('x-relay-call-id')
    return api.call(principal, { operation, input, id, abandoned: c.req.raw.signal, left })
  }
  mountAgents(app, ask)
  app.post('/api/:operation', async (c) => {
    const operation = c.req.param('operation')
    // `run.complete` has a higher limit, since it alone carries a payload.
    const bytesMax = operation === 'run.complete' ? limits.lineBytesMax : limits.requestBytesMax
    const { status, body } = await ask(c, operation, await jsonBody(c, operation, bytesMax))
    return Response.json(body, { status })
  })
}

/** Calls one operation as the caller of the HTTP request. */
type AskApi = (c: Context<HttpEnv>, operation: string, input: unknown) => Promise<HttpAnswer>

function mountAgents(app: Hono<HttpEnv>, ask: AskApi): void {
  const reply = <O>({ status, body }: HttpAnswer, show: (output: O) => object): Response =>
    Response.json(status === 200 ? show(body as O) : body, { status })

  const inputOf = (c: Context<HttpEnv>, operation: string) => jsonBody(c, operation, limits.requestBytesMax)

  app.get('/api/agents', async (c) => {
    const status = c.req.query('status')
    return reply<{ runs: Run[] }>(await ask(c, 'run.list', { status }), ({ runs }) => ({
      agents: runs.map(agentStatusOf),
    }))
  })
  app.post('/api/agents', async (c) => reply(await ask(c, 'run.start', await inputOf(c, 'run.start')), agentStatusOf))
  app.get('/api/agents/:id', async (c) => {
    const id = c.req.param('id')
    const answer = await ask(c, 'run.status', { runs: [id] })
    const [run] = (answer.body as { runs?: (Run | { id: string; error: string })[] }).runs ?? []
    if (run && 'error' in run) return reply(refusalAnswer(refusal('run.unknown', { run: id })), (body: object) => body)
    return reply(answer, () => agentStatusOf(run as Run))
  })
  app.post('/api/agents/:id/stop', async (c) => {
    const { reason } = ((await inputOf(c, 'run.stop')) ?? {}) as { reason?: string }
    return reply(await ask(c, 'run.stop', { run: c.req.param('id'), reason }), agentStatusOf)
  })
  app.get('/api/agents/:id/payload', async (c) => {
    const answer = await ask(c, 'run.payload', { run: c.req.param('id') })
    if (answer.status !== 200) return Response.json(answer.body, { status: answer.status })
    if (!acceptsGzip(c.req.header('accept-encoding'))) throw new RefusalError('encoding.refused')
    return payloadResponse(Buffer.from((answer.body as { gzip: string }).gzip, 'base64'))
  })
}

/**
 * Serves a run's payload without a credential, if the URL contains a right to read it (`?right=…`, broker/runs/payload-links.ts). A request with a credential
 * goes on to the next route.
 */
export function mountPayloadLinks(app: Hono<HttpEnv>, callers: Callers, connections: PortConnections): void {
  app.get('/api/agents/:id/payload', async (c, next) => {
    const right = c.req.query('right')
    if (right === undefined || c.req.header('authorization') !== undefined) return next()
    const runs = (await callers.openById(workspaceIdOfLink(right)))?.workspace.runs
    if (!runs) throw new RefusalError('payload.link')
    const bytes = await runs.payloads.byLink(c.req.param('id'), right)
    connections.markAuthenticated(c.env.incoming.socket)
    if (!acceptsGzip(c.req.header('accept-encoding'))) throw new RefusalError('encoding.refused')
    return payloadResponse(bytes)
  })
}

function payloadResponse(bytes: Uint8Array): Response {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-encoding': 'gzip',
    'content-length': String(bytes.length),
    // The response must not be cached, nor its URL passed on: the URL may contain a right to read the payload.
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  }
  return new Response(bytes as Uint8Array<ArrayBuffer>, { headers })
}

/** Whether an Accept-Encoding header accepts gzip: with a weight above zero, by its name or by `*`; the name takes precedence over the star. */
export function acceptsGzip(header: string | undefined): boolean {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
    const weight = parameters.map((each) => /^q\s*=\s*(.*)$/.exec(each)?.[1]).find((each) => each !== undefined)
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}
