// Shared parts of the HTTP server: the caller, the moment when an answer has left, the limits, and small helpers.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { limits } from '@agent-relay/sdk/protocol'
import { mcpLineBytesMax } from '../line-transport.ts'
import type { ServerOptions } from '../server.ts'
import type { Tool } from '../tools/tool.ts'
import type { StreamLimits } from './bounded-stream.ts'

/** The caller of a request, as the daemon has checked it. */
export interface HttpCaller {
  /** The caller's identity to which a session is bound: requests of other callers do not find it. */
  principal: string
  /** The workspace and the agent of a stateless call: calls with the same identity belong together. */
  identity: string
  /** Opens a session. `session`: as the named agent, or one that is named once the client has introduced itself. `stateless`: as the named agent, or nobody. */
  open(era: 'session' | 'stateless'): Promise<RelaySession>
  /** The caller for whom this agent's token speaks, in the same workspace; throws if the token is not valid there. */
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
  /** Opens the turn of one tools/call under the id that makes a repeat recognisable. */
  turn(id: string): Turn
  /** Gives messages that were handed out and not read to another session of the agent: the client seems gone without a goodbye. */
  letGo(): void
}

export interface HttpExchange {
  request: Request
  caller: HttpCaller
  /** Settles once: true if the whole answer has left, false if its receiver was gone before. */
  answerLeft: Promise<boolean>
}

export interface ToolChoice {
  /** A key for the choice: equal for the same tools. */
  name: string
  list: readonly Tool[]
}

export interface McpHttpLimits extends StreamLimits {
  bodyBytesMax: number
  /** The time after which a session without a call and without an open stream ends. */
  idleMs: number
  /** The most sessions of each kind; beyond it the longest unused one ends. */
  sessionsMax: number
  /** Interval of comments on open streams, so that nothing in between takes them for dead. */
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

/** The ids of the questions in a body, which may be a batch. */
export function requestIds(body: unknown): (string | number)[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  return messages.flatMap((message) => {
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown }
    return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? [id] : []
  })
}

/** Returns a turn that settles once its answer has left or is lost: only then does the answer count as received, or not. */
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
