// What the parts of the HTTP server share: who asks, when an answer has left, the limits, and small helpers.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { limits } from '@agent-relay/sdk/protocol'
import { mcpLineBytesMax } from '../line-transport.ts'
import type { ServerOptions } from '../server.ts'
import type { Tool } from '../tools/tool.ts'
import type { StreamLimits } from './bounded-stream.ts'

/** Who asks, as the daemon has checked it. */
export interface HttpCaller {
  /** What a session is bound to: a request of anybody else does not find it. */
  principal: string
  /** The workspace and the agent that a stateless call acts as; the next call is the next one with the same. */
  identity: string
  /** `session`: as the agent the caller names, or one that is named when the client has introduced itself. `stateless`: as that agent, or nobody. */
  open(era: 'session' | 'stateless'): Promise<RelaySession>
  /** Whoever this agent's token speaks for, in the same workspace; throws where it speaks for nobody there. */
  as(token: string): HttpCaller
  /** The only toolset there is for it. */
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
  /** Its client seems gone without a goodbye: another session of the agent may get what was handed out and not read. */
  letGo(): void
}

export interface Exchange {
  request: Request
  caller: HttpCaller
  /** Settles once: true when the whole answer has left, false when its receiver was gone before. */
  left: Promise<boolean>
}

export interface ToolChoice {
  /** The same for the same tools. */
  name: string
  list: readonly Tool[]
}

export interface McpHttpLimits extends StreamLimits {
  bodyBytesMax: number
  /** A session without a call and without an open stream ends after this. */
  idleMs: number
  /** Sessions of each kind; beyond that the longest unused one ends. */
  sessionsMax: number
  /** A comment on open streams, so that nothing in between takes them for dead. */
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

export function rpcError(status: number, code: number, message: string): Response {
  // After 413 the rest of the request is not waited for, so nothing may follow it on this connection.
  const headers: Record<string, string> = status === 413 ? { connection: 'close' } : {}
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}

/** Nobody's session, somebody else's session and one that ended get the same answer: the client opens another. */
export function noSuchSession(): Response {
  return rpcError(404, -32001, 'Session not found')
}

export function tooManySessions(): Response {
  return rpcError(503, -32000, 'Too many sessions are in use. Close one, or try again later.')
}

/** The ids of the questions in a body, which may be a batch. */
export function requestIds(body: unknown): (string | number)[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  return messages.flatMap((message) => {
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown }
    return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? [id] : []
  })
}

/** What an answer handed out counts as received only when that answer has left. */
export function onceLeft(left: Promise<boolean>, turn: Turn): Turn {
  return {
    call: (op, input, signal) => turn.call(op, input, signal),
    answered: () => void left.then((hasLeft) => (hasLeft ? turn.answered() : turn.lost())),
    lost: () => turn.lost(),
    roles: turn.roles,
  }
}

/** Cannot be guessed; and whoever learns it still needs the credential that it is bound to. */
export function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
