// The daemon's end of a stdio pipe, the small process that an editor starts as its MCP server: one HELLO line, then MCP lines both ways. The pipe itself
// (`agent-relay-mcp serve`) only carries the lines.

import type { Socket } from 'node:net'
import type { LineWriter } from '@agent-relay/mcp'
import { RelayError } from '@agent-relay/sdk'
import { callId } from '@agent-relay/sdk/internal/call-id'
import {
  agentNamePattern,
  encodeFrame,
  type Hello,
  issuesText,
  limits,
  type Refusal,
  refusal,
} from '@agent-relay/sdk/protocol'
import type { RefusalLike } from '@agent-relay/sdk/wire'
import { z } from 'zod'
import type { Dispatch } from '../broker/dispatch.ts'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import { BatchedWrites } from './batched-writes.ts'
import { defaultToolset, loadMcp, type McpOrigin, openMcpSession } from './mcp-session.ts'

/** The HELLO of a stdio pipe. The id in `pipe` stays the same when the pipe connects again after a restart of the daemon. */
const PipeHello = z.object({
  pipe: z.string().min(8).max(limits.idCharsMax),
  name: z.string().max(100).optional(),
  type: z.enum(['agent', 'human']).optional(),
  token: z.string().max(200).optional(),
  key: z.string().max(200).optional(),
  strict: z.boolean().optional(),
  tools: z.string().max(200).optional(),
  push: z.string().max(40).optional(),
  host: z.number().int().positive().optional(),
  cwd: z.string().max(limits.pathCharsMax).optional(),
  /** The provisional name that an earlier daemon gave the client, and that nobody has written to yet. */
  given: z.string().regex(agentNamePattern).optional(),
  /** JSON-RPC ids of calls that the pipe sent and that were never answered: the pipe sends them again under the same ids. */
  calls: z
    .array(z.union([z.string(), z.number()]))
    .max(10_000)
    .optional(),
})

/** Maximum number of unread bytes of answers: an editor that does not read its MCP server's answers is not coming back. */
const unreadAnswerBytesMax = 32 * 1024 * 1024

/** By which way the pipe's session was opened, with the credential of its HTTP upgrade if it came over HTTP. */
export interface PipeOrigin extends McpOrigin {
  key?: string
  token?: string
}

export interface PipeHandle {
  /** Number of calls under way. */
  readonly pending: number
  close(): void
}

/** Tells a stdio pipe that no workspace serves it, and why. */
export function refusePipe(socket: Socket, why: Refusal): PipeHandle {
  socket.end(encodeFrame({ v: 1, type: 'ERROR', id: 'pipe', ts: Date.now(), payload: why }))
  return { pending: 0, close: () => socket.destroy() }
}

export async function servePipe(
  dispatch: Dispatch,
  socket: Socket,
  payload: unknown,
  early: Uint8Array,
  { key, token, ...origin }: PipeOrigin = { door: 'owner' },
): Promise<PipeHandle> {
  const writes = new BatchedWrites(socket)
  const say = (type: 'WELCOME' | 'ERROR', payload: unknown) =>
    writes.write(encodeFrame({ v: 1, type, id: 'pipe', ts: Date.now(), payload }))
  try {
    const { LineTransport, createServer, toolsOf } = await loadMcp()
    const hello = {
      ...parsePipeHello(payload),
      ...(key === undefined ? {} : { key }),
      ...(token === undefined ? {} : { token }),
    }
    const tools = toolsOf(toolsetsFor(dispatch, origin, hello))
    // In a workspace shared between machines the agent's name is stored at once: other machines are only told of stored agents.
    const isProvisional = !dispatch.workspace.isShared
    const naming = { ...origin, isProvisional, givenName: hello.given }
    const { client, link, options, turn } = await openMcpSession(dispatch, naming, sessionHello(hello), (agent) =>
      say('WELCOME', agent),
    )
    const transport = new LineTransport(portOf(socket, writes))
    const server = createServer(client, {
      ...options,
      tools,
      openTurn: (rpcId) => turn(callId(hello.pipe, rpcId)),
      onSent: (listener) => transport.onSent(listener),
      hasPush: hello.push === 'channel',
    })
    socket.on('data', (chunk) => transport.receive(chunk))
    const leave = () => {
      transport.markClosed()
      void client.disconnect()
    }
    socket.on('close', leave)
    // The editor may have gone while the session was prepared.
    if (socket.destroyed) leave()
    void link.closed.then(({ refusal: why }) => {
      if (why === undefined) return
      say('ERROR', why)
      writes.end()
    })
    await server.connect(transport)
    if (early.length > 0) transport.receive(early)
    socket.resume()
    return {
      get pending() {
        return link.pending
      },
      close: () => writes.end(),
    }
  } catch (error) {
    say('ERROR', reasonOf(error))
    writes.end()
    return { pending: 0, close: () => socket.destroy() }
  }
}

/**
 * Returns the toolsets that an MCP server on stdio offers. An agent that carries out a run must be able to complete it, whatever tools the agent asked for. The
 * port of `agent-relay lift` serves only that command's tools.
 */
function toolsetsFor(dispatch: Dispatch, { door }: McpOrigin, hello: z.infer<typeof PipeHello>): string | undefined {
  const { tools, token } = hello
  const { workspace } = dispatch
  const only = door === 'lift' ? defaultToolset(dispatch) : undefined
  if (only !== undefined && tools !== undefined && tools !== only)
    throw new RefusalError('input.invalid', {
      operation: 'HELLO',
      why: `this port serves the toolset ${only} and no other: unset RELAY_TOOLS`,
    })
  if (only !== undefined) return only
  const agent = token === undefined ? undefined : workspace.credentials.agentOfToken(token)
  const isAtWork = agent !== undefined && workspace.runs.isCarriedOutBy(agent)
  return isAtWork ? `${tools ?? 'relay'},agents` : (tools ?? defaultToolset(dispatch))
}

function portOf(socket: Socket, writes: BatchedWrites): LineWriter {
  return {
    write: (line, flushed) => {
      if (writes.waitingLength > unreadAnswerBytesMax) socket.destroy()
      writes.write(line, flushed)
    },
    end: () => writes.end(),
  }
}

function parsePipeHello(payload: unknown): z.infer<typeof PipeHello> {
  const result = PipeHello.safeParse(payload)
  if (result.success) return result.data
  const { code, message } = refusal('frame.invalid', { why: `HELLO: ${issuesText(result.error.issues)}` })
  throw new RelayError(message, { code })
}

/** Returns the refusal in an error. In process, a refusal arrives as the error that a client sees, whose text says the fix. */
function reasonOf(error: unknown): RefusalLike {
  if (!(error instanceof RelayError) || error.code === undefined) return toRefusal(error)
  const { code, message, retry, details } = error
  return { code, message, retry, details }
}

function sessionHello({
  pipe,
  name,
  type,
  token,
  key,
  strict,
  host,
  cwd,
  calls = [],
}: z.infer<typeof PipeHello>): Hello {
  return { name, type, token, key, strict, host, cwd, session: pipe, calls: calls.map((rpcId) => callId(pipe, rpcId)) }
}
