// MCP 2025 over Streamable HTTP: sessions that `initialize` opens, that belong to their caller, and that end by DELETE or when unused.

import { callId } from '@agent-relay/sdk/internal/call-id'
import type { Turn } from '@agent-relay/sdk/internal/client'
import {
  isInitializeRequest,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { createServer } from '../server.ts'
import {
  type HttpExchange,
  type McpHttpLimits,
  newSessionId,
  type RelaySession,
  requestIds,
  rpcErrorResponse,
  sessionNotFoundResponse,
  type ToolChoice,
  tooManySessionsResponse,
  turnSettledByDelivery,
} from './exchange.ts'
import { Keeper } from './keeper.ts'

export class SessionsHttp {
  readonly #limits: McpHttpLimits
  readonly #sessions: Keeper<HttpSession>

  constructor(limits: McpHttpLimits) {
    this.#limits = limits
    this.#sessions = new Keeper({
      idleMs: limits.idleMs,
      countMax: limits.sessionsMax,
      end: (session) => session.end(),
    })
  }

  async serve(exchange: HttpExchange, body: unknown, tools: ToolChoice): Promise<Response> {
    const { request, caller, answerLeft } = exchange
    const id = request.headers.get('mcp-session-id')
    if (id === null && !isInitializeRequest(body))
      return rpcErrorResponse(
        400,
        -32000,
        'Bad Request: Mcp-Session-Id header is required; a session opens with initialize',
      )
    const session = id === null ? await this.#open(exchange, tools) : this.#sessions.get(id)
    if (session === undefined) return id === null ? tooManySessionsResponse() : sessionNotFoundResponse()
    if (session.principal !== caller.principal) return sessionNotFoundResponse()
    const release = this.#sessions.markInUse(session.id)
    void answerLeft.then(release)
    const response = await session.serve(exchange, body)
    if (id === null && !response.ok) this.#sessions.endNow(session.id)
    return response
  }

  close(): void {
    this.#sessions.clear()
  }

  async #open({ caller }: HttpExchange, tools: ToolChoice): Promise<HttpSession | undefined> {
    const relay = await caller.open('session')
    const session = await HttpSession.open(caller.principal, relay, tools, this.#limits)
    const isKept = this.#sessions.put(session.id, session)
    if (!isKept) session.end()
    session.onEnd = () => this.#sessions.endNow(session.id, session)
    return isKept ? session : undefined
  }
}

class HttpSession {
  readonly id = newSessionId()
  readonly principal: string
  /** Called when the session ends by itself: its client has ended it, or the workspace was closed. */
  onEnd: () => void = () => {}
  readonly #relay: RelaySession
  readonly #transport: WebStandardStreamableHTTPServerTransport
  /** The requests under way, each with a promise that tells whether its answer has left. */
  readonly #underWay = new Map<RequestId, Promise<boolean>>()
  /** Number of streams that the client holds open for notifications. Without one, a notification is lost. */
  #openStreams = 0

  private constructor(principal: string, relay: RelaySession, { bodyBytesMax, keepAliveMs }: McpHttpLimits) {
    this.principal = principal
    this.#relay = relay
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      onsessionclosed: () => this.onEnd(),
      maxRequestBodySize: bodyBytesMax,
      keepAliveMs,
    })
  }

  static async open(principal: string, relay: RelaySession, tools: ToolChoice, limits: McpHttpLimits) {
    const session = new HttpSession(principal, relay, limits)
    const openTurn = (rpcId: RequestId) => session.#turn(rpcId)
    const canPush = () => session.#openStreams > 0
    const server = createServer(relay.client, { ...relay.options, tools: tools.list, openTurn, canPush })
    await server.connect(session.#transport)
    relay.client.on('disconnect', () => session.onEnd())
    return session
  }

  async serve({ request, answerLeft }: HttpExchange, body: unknown): Promise<Response> {
    const ids = requestIds(body)
    for (const id of ids) this.#underWay.set(id, answerLeft)
    void answerLeft.then((hasLeft) => {
      for (const id of ids) {
        this.#underWay.delete(id)
        if (!hasLeft) this.#cancel(id)
      }
    })
    const response = await this.#transport.handleRequest(request, { parsedBody: body })
    // When the client's stream for notifications ends, lets it open another, and frees the messages that this session was given and has not read.
    if (request.method === 'GET' && response.ok) {
      this.#openStreams++
      void answerLeft.then(() => {
        this.#openStreams--
        this.#transport.closeStandaloneSSEStream()
        this.#relay.releaseHandedMessages()
      })
    }
    return response
  }

  end(): void {
    void this.#transport.close()
    void this.#relay.client.disconnect()
  }

  #turn(rpcId: RequestId): Turn {
    const turn = this.#relay.turn(callId(this.id, rpcId))
    return turnSettledByDelivery(this.#underWay.get(rpcId) ?? Promise.resolve(false), turn)
  }

  /** Cancels a request whose stream is gone and cannot be resumed: nobody would ever read the answer, so a wait for it ends. */
  #cancel(requestId: RequestId): void {
    const params = { requestId, reason: 'the request was closed' }
    this.#transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }
}
