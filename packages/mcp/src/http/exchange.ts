// What all HTTP transports of MCP share: the caller, when an answer has been sent, the limits, and small helpers.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { limits } from '@agent-relay/sdk/protocol'
import { mcpLineBytesMax } from '../line-transport.ts'
import type { ServerOptions } from '../server.ts'
import type { Tool } from '../tools/tool.ts'
import type { StreamLimits } from './bounded-stream.ts'

/** The caller of a request, as the daemon has checked it. */
export interface HttpCaller {
  /** Identifies the caller that a session belongs to: a request with another `principal` does not find the session. */
  principal: string
  /** Identifies the workspace and the agent of a stateless call: calls with the same `identity` share state. */
  identity: string
  /**
   * Opens a session of the relay as the agent that the request names. Without a name, `session` (MCP 2024 and 2025) gets an agent once the client has
   * introduced itself, and `stateless` (MCP 2026) acts as nobody.
   */
  open(kind: 'session' | 'stateless'): Promise<RelaySession>
  /** Returns the caller that acts as this token's agent, in the same workspace; throws if the token is not valid there. */
  withAgentToken(token: string): HttpCaller
  /** The only toolset that the caller may have; unset if it may choose. */
  onlyTools?: string
}

/** One session of the relay, as an MCP server needs it. */
export interface RelaySession {
  client: WorkspaceClient
  options: Pick<
    ServerOptions,
    'version' | 'agentName' | 'introduce' | 'register' | 'roles' | 'onInitialized' | 'onCall'
  >
  /** Opens the turn of one tools/call. A repeated call has the same `id`, by which it is recognized. */
  turn(id: string): Turn
  /** Lets other sessions of the agent have the messages that this session was given and has not read: its client seems gone without closing the session. */
  releaseHandedMessages(): void
}

export interface HttpExchange {
  request: Request
  caller: HttpCaller
  /** Resolves to true when the whole answer has been sent, to false if the client left before. */
  answerLeft: Promise<boolean>
}

export interface ToolChoice {
  /** A map key for this choice of tools: equal for the same tools. */
  name: string
  list: readonly Tool[]
}

export interface McpHttpLimits extends StreamLimits {
  bodyBytesMax: number
  /** The time after which a session without a call and without an open stream ends. */
  idleMs: number
  /** Maximum number of sessions of each transport. Beyond it, the session that has been unused longest ends. */
  sessionsMax: number
  /** Interval of the comments on open streams, which keep proxies from closing them. */
  keepAliveMs: number
}

export const mcpHttpLimits: Readonly<McpHttpLimits> = {
  bodyBytesMax: mcpLineBytesMax,
  idleMs: 30 * 60_000,
  sessionsMax: 1_000,
  keepAliveMs: 15_000,
  waitingBytesMax: limits.waitingBytesMax,
  stalledMs: limits.stalledMs,
}

export function rpcErrorResponse(status: number, code: number, message: string): Response {
  // After 413 the server does not read the rest of the request, so nothing may follow it on this connection.
  const headers: Record<string, string> = status === 413 ? { connection: 'close' } : {}
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}

/** The answer for a session that is unknown, has ended or belongs to another caller: the client then opens a new one. */
export function sessionNotFoundResponse(): Response {
  return rpcErrorResponse(404, -32001, 'Session not found')
}

export function tooManySessionsResponse(): Response {
  return rpcErrorResponse(503, -32000, 'Too many sessions are in use. Close one, or try again later.')
}

/** Returns the ids of the JSON-RPC requests in a body, which may be a batch. */
export function requestIds(body: unknown): (string | number)[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  return messages.flatMap((message) => {
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown }
    return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? [id] : []
  })
}

/** Returns a turn that reports its answer as received only when the answer was sent, and as lost if it was not. */
export function turnSettledByDelivery(left: Promise<boolean>, turn: Turn): Turn {
  return {
    call: (op, input, signal) => turn.call(op, input, signal),
    answered: () => void left.then((hasLeft) => (hasLeft ? turn.answered() : turn.lost())),
    lost: () => turn.lost(),
    roles: turn.roles,
  }
}

/** A random id. A session also needs the credential that it is bound to, so knowing the id is not enough. */
export function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
