// The daemon's end of a stdio pipe: one HELLO line, then MCP lines both ways. The other end (`agent-relay-mcp serve`) only carries them.

import type { Socket } from 'node:net'
import type { LinePort } from '@agent-relay/mcp'
import { type RefusalLike, RelayError } from '@agent-relay/sdk'
import { encodeFrame, type Hello, limits, refusal } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { Dispatch } from '../broker/dispatch.ts'
import { refusalOf } from '../refusal-error.ts'
import type { Entry } from './entering.ts'
import { loadMcp, openMcpSession, toolsetOf } from './mcp-session.ts'

/** What the pipe says of itself. Its id stays the same when it comes back after a restart of the daemon. */
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
  /** JSON-RPC ids of calls that were sent and never answered: they follow, under the same ids. */
  calls: z
    .array(z.union([z.string(), z.number()]))
    .max(10_000)
    .optional(),
})

/** A host that does not read its MCP server's answers is not coming back. */
const waitingBytesMax = 32 * 1024 * 1024

/** How the pipe came in, with the credential that its upgrade has shown. */
export interface PipeEntry extends Entry {
  key?: string
  token?: string
}

export interface PipeHandle {
  /** Calls under way. */
  readonly pending: number
  close(): void
}

export async function servePipe(
  dispatch: Dispatch,
  socket: Socket,
  payload: unknown,
  early: Uint8Array,
  { key, token, ...entry }: PipeEntry = { door: 'owner' },
): Promise<PipeHandle> {
  const say = (type: 'WELCOME' | 'ERROR', content: unknown) => {
    socket.write(encodeFrame({ v: 1, type, id: 'pipe', ts: Date.now(), payload: content }))
  }
  try {
    const { LineTransport, createServer, toolsOf } = await loadMcp()
    const hello = {
      ...parse(payload),
      ...(key === undefined ? {} : { key }),
      ...(token === undefined ? {} : { token }),
    }
    const tools = toolsOf(toolsetsFor(dispatch, hello))
    const { client, link, options, turn } = await openMcpSession(dispatch, entry, asSession(hello), (agent) =>
      say('WELCOME', agent),
    )
    const transport = new LineTransport(portOf(socket))
    const server = createServer(client, {
      ...options,
      tools,
      turn: (rpcId) => turn(callId(hello.pipe, rpcId)),
      onSent: (listener) => transport.onSent(listener),
      hasPush: hello.push === 'channel',
    })
    socket.on('data', (chunk) => transport.receive(chunk))
    const leave = () => {
      transport.closed()
      void client.disconnect()
    }
    socket.on('close', leave)
    // It may have gone while all this was made ready.
    if (socket.destroyed) leave()
    void link.closed.then(({ refusal: why }) => {
      if (why === undefined) return
      say('ERROR', why)
      socket.end()
    })
    await server.connect(transport)
    if (early.length > 0) transport.receive(early)
    socket.resume()
    return {
      get pending() {
        return link.pending
      },
      close: () => socket.end(),
    }
  } catch (error) {
    say('ERROR', reasonOf(error))
    socket.end()
    return { pending: 0, close: () => socket.destroy() }
  }
}

/** Whoever carries out a run must be able to complete it, whatever else it was given. */
function toolsetsFor(dispatch: Dispatch, { tools, token }: z.infer<typeof PipeHello>): string | undefined {
  const { workspace } = dispatch
  const agent = token === undefined ? undefined : workspace.agentOfToken(token)
  const isAtWork = agent !== undefined && workspace.runs.isCarriedOutBy(agent)
  return isAtWork ? `${tools ?? 'relay'},agents` : (tools ?? toolsetOf(dispatch))
}

function portOf(socket: Socket): LinePort {
  return {
    write: (line, flushed) => {
      if (socket.writableLength > waitingBytesMax) socket.destroy()
      socket.write(line, flushed)
    },
    end: () => socket.end(),
  }
}

function parse(payload: unknown): z.infer<typeof PipeHello> {
  const result = PipeHello.safeParse(payload)
  if (result.success) return result.data
  const { code, message } = refusal('frame.invalid', { why: z.prettifyError(result.error) })
  throw new RelayError(message, { code })
}

/** In process a refusal arrives as the error that a client sees; its text says the mend. */
function reasonOf(error: unknown): RefusalLike {
  if (!(error instanceof RelayError) || error.code === undefined) return refusalOf(error)
  const { code, message, retry, details } = error
  return { code, message, retry, details }
}

function asSession({ pipe, name, type, token, key, strict, host, calls = [] }: z.infer<typeof PipeHello>): Hello {
  return { name, type, token, key, strict, host, session: pipe, calls: calls.map((rpcId) => callId(pipe, rpcId)) }
}

/** A JSON-RPC id is unique within its pipe, and a pipe's id in the world. */
function callId(pipe: string, rpcId: string | number): string {
  return `${pipe}/${typeof rpcId === 'number' ? rpcId : JSON.stringify(rpcId)}`
}
