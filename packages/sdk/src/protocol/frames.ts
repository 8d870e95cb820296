// Envelopes, the JSON objects of the wire protocol, and the parser that turns bytes into envelopes. The parser takes bytes from any source and needs no socket.

import { JsonDepthError, parseJson } from './json.ts'
import { limits } from './limits.ts'

export const frameTypes = [
  'HELLO',
  'WELCOME',
  'CALL',
  'ACK',
  'ERROR',
  'DELIVER',
  'EVENT',
  'PING',
  'PONG',
  'BYE',
] as const
/**
 * Frame types of the first version of the protocol, each with the operation that it calls. packages/relay/src/wires/first-protocol.ts makes the answers to
 * them.
 */
export const callSpellings = {
  SEND: 'message.send',
  INBOX: 'inbox.take',
  WHO: 'agent.list',
  SPAWN: 'worker.spawn',
  RELEASE: 'worker.release',
} as const

export type FrameType = (typeof frameTypes)[number] | keyof typeof callSpellings

export interface Envelope<P = unknown> {
  v: 1
  type: FrameType
  id: string
  ts: number
  payload: P
}

export class FrameError extends Error {
  readonly code: 'frame.invalid' | 'frame.too-large'
  /** The limit for a line in bytes. Set if the line was longer. */
  readonly bytesMax?: number
  constructor(code: FrameError['code'], why: string, bytesMax?: number) {
    super(why)
    this.name = 'FrameError'
    this.code = code
    this.bytesMax = bytesMax
  }
}

function tooLarge(bytesMax: number): FrameError {
  return new FrameError('frame.too-large', `a line is at most ${bytesMax} bytes`, bytesMax)
}

export function encodeFrame(envelope: Envelope): string {
  return `${JSON.stringify(envelope)}\n`
}

const newline = 10
const nothing = new Uint8Array(0)

/**
 * Turns bytes into envelopes: call `push` with bytes as they arrive, then `read` until it returns undefined. For a bad line `read` throws a FrameError; calling
 * it again reads the lines after. A line over the limit is skipped.
 */
export class FrameParser {
  readonly #bytesMax: number
  readonly #depthMax: number
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #lines: string[] = []
  #next = 0
  #partial = nothing
  #partialBytes = 0
  #skipping = false

  constructor(bytesMax: number = limits.lineBytesMax, depthMax: number = answerDepthMax) {
    this.#bytesMax = bytesMax
    this.#depthMax = depthMax
  }

  push(chunk: Uint8Array): void {
    const end = chunk.lastIndexOf(newline) + 1
    if (end > 0) this.#takeLines(chunk.subarray(0, end))
    if (end < chunk.length) this.#keep(chunk.subarray(end))
  }

  read(): Envelope | undefined {
    while (this.#next < this.#lines.length) {
      const line = this.#lines[this.#next++] as string
      if (this.#next === this.#lines.length) {
        this.#lines = []
        this.#next = 0
      }
      if (line === tooLong) throw tooLarge(this.#bytesMax)
      if (line === notUtf8) throw new FrameError('frame.invalid', 'not UTF-8')
      if (line.trim() !== '') return toEnvelope(line, this.#depthMax)
    }
    return undefined
  }

  /**
   * Decodes several lines in one call, because each call of the decoder costs more than the bytes of a line. Decodes line by line if one of them is not UTF-8
   * or may be too long.
   */
  #takeLines(lines: Uint8Array): void {
    let start = 0
    if (this.#partialBytes > 0) {
      start = lines.indexOf(newline) + 1
      this.#finishLine(lines.subarray(0, start - 1))
    }
    if (start === lines.length) return
    const together = lines.length <= this.#bytesMax ? this.#decode(lines.subarray(start, -1)) : notUtf8
    if (together !== notUtf8) {
      for (const line of together.split('\n')) this.#lines.push(line)
      return
    }
    for (let end = lines.indexOf(newline, start); end >= 0; end = lines.indexOf(newline, start)) {
      this.#finishLine(lines.subarray(start, end))
      start = end + 1
    }
  }

  /**
   * Keeps the beginning of an unfinished line in a growing buffer. The bytes are copied, because the chunk belongs to the socket and the rest may come late;
   * the buffer doubles, because the pieces may be single bytes.
   */
  #keep(bytes: Uint8Array): void {
    const before = this.#partialBytes
    this.#partialBytes += bytes.length
    if (this.#partialBytes > this.#bytesMax) {
      this.#partial = nothing
      if (!this.#skipping) this.#lines.push(tooLong)
      this.#skipping = true
      return
    }
    if (this.#partialBytes > this.#partial.length) {
      const grown = new Uint8Array(Math.min(this.#bytesMax, Math.max(this.#partialBytes, 2 * this.#partial.length)))
      grown.set(this.#partial.subarray(0, before))
      this.#partial = grown
    }
    this.#partial.set(bytes, before)
  }

  #finishLine(tail: Uint8Array): void {
    if (this.#partialBytes > 0) this.#keep(tail)
    const skipped = this.#skipping
    const line = this.#partialBytes > 0 ? this.#partial.subarray(0, this.#partialBytes) : tail
    if (skipped) this.#skipping = false
    else if (line.length > this.#bytesMax) this.#lines.push(tooLong)
    else this.#lines.push(this.#decode(line))
    this.#partial = nothing
    this.#partialBytes = 0
  }

  #decode(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes)
    } catch {
      return notUtf8
    }
  }
}

// Placeholders for lines that cannot be read. No decoded line is equal to one of them, because a decoded line never contains a newline.
const tooLong = '\ntoo long'
const notUtf8 = '\nnot utf-8'

/** Maximum number of characters of an unknown frame type that a refusal quotes. */
const shownTypeChars = 40

const knownTypes = new Set<string>([...frameTypes, ...Object.keys(callSpellings)])

/**
 * Maximum depth of JSON in the daemon's answers. It is greater than for clients: what one client has sent reaches other clients a few levels deeper, inside a
 * list or an event.
 */
const answerDepthMax = limits.jsonDepthMax + 16

function toEnvelope(line: string, depthMax: number): Envelope {
  let value: unknown
  try {
    value = parseJson(line, depthMax)
  } catch (error) {
    throw new FrameError('frame.invalid', error instanceof JsonDepthError ? error.message : 'not JSON')
  }
  if (typeof value !== 'object' || value === null) throw new FrameError('frame.invalid', 'not an object')
  const { v, type, id, ts, payload } = value as Partial<Envelope>
  if (v !== 1) throw new FrameError('frame.invalid', 'v must be 1')
  if (typeof type !== 'string' || !knownTypes.has(type))
    throw new FrameError('frame.invalid', `unknown type ${JSON.stringify(type ?? null).slice(0, shownTypeChars)}`)
  if (typeof id !== 'string' || id === '' || id.length > limits.idCharsMax) {
    throw new FrameError('frame.invalid', `id must be 1 to ${limits.idCharsMax} characters`)
  }
  return { v, type, id, ts: typeof ts === 'number' ? ts : 0, payload }
}

/** The content of HELLO, the first frame of a connection. Without `name`, the session may read, but acts as no agent. */
export interface Hello {
  name?: string
  type?: 'agent' | 'human'
  cli?: string
  model?: string
  parent?: string
  handle?: string
  role?: 'lead'
  channels?: string[]
  strict?: boolean
  /** A credential. `token`: the agent's own token. `key`: the key of the workspace. */
  token?: string
  key?: string
  /**
   * The secret from the WELCOME of an earlier session of the same agent, which this session continues; or a secret that the client has made up for later
   * sessions.
   */
  session?: string
  /** The process id of the program that started the client, on this machine. */
  host?: number
  /** The client's own process id, on this machine. The client proves it by its process title: see packages/relay/src/machine/process-tree.ts. */
  process?: number
  /** The working directory of the client's process. A worker that this agent starts runs there, if no better directory is known. */
  cwd?: string
  /**
   * The ids of the ancestor processes of a CLI's hook, the nearest first. A hook has no token: it speaks for the agent whose client one of these processes has
   * started.
   */
  hosts?: number[]
  /** The id of the conversation, inside the CLI, to which a hook belongs: one CLI process may run several conversations. */
  thread?: string
  /** With `mcp`, the client speaks the first version of the protocol: the daemon sends it messages as DELIVER frames as they come, without a watch. */
  capabilities?: string[]
  /** The ids of calls of the earlier session whose answers did not arrive. The daemon hands out the messages in those answers again. */
  calls?: string[]
}

export interface Welcome {
  /** A secret by which a later HELLO can continue this session. Others see another, public id of the session. */
  session: string
  workspace: string
  workspaceId: string
  version: string
  agent?: string
  token?: string
  /** Why a person at this machine's command line got another name than the requested one. Unset for agents. */
  because?: string
  /** The tool with which the model answers, for the hook of an agent. Unset: `relay_send`. */
  sendTool?: string
  seq: number
}

export interface Call {
  op: string
  input?: unknown
}
