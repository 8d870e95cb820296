// Envelopes on the wire, and the parser that turns bytes into them. The parser is fed with bytes and needs no socket.

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
/** The frames of the first protocol, each with the operation that it stands for. Their answers are worded in the daemon: wires/first-protocol.ts. */
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
  /** The most bytes of a line, where this one was longer. */
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
 * Turns bytes into envelopes: `push` bytes as they come, then `read` until it answers undefined. A bad line throws a FrameError from `read`; the lines after
 * it can still be read, and a line over the limit is passed over.
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

  /** Decodes lines together, because a decoder's call costs more than a line's bytes; one by one where that cannot be. */
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

  /** Copies half a line, which may wait long, because the chunk belongs to the socket. One growing buffer, because pieces may be single bytes. */
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

// Marks for lines that cannot be read. A decoded line never holds a newline, so these two cannot be mistaken for one.
const tooLong = '\ntoo long'
const notUtf8 = '\nnot utf-8'

/** Number of characters that a refusal shows of an unknown type. */
const shownTypeChars = 40

const knownTypes = new Set<string>([...frameTypes, ...Object.keys(callSpellings)])

/** The depth of the daemon's answers. The words of one client come back to others a few levels deeper, in a list or an event. */
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

/** The content of the first frame of a connection. Without a name the session may ask, but acts for nobody. */
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
  /** A credential, never a claim: the agent's own token, or in `key` that of the workspace. */
  token?: string
  key?: string
  /** The secret in the WELCOME of an earlier session of the same agent, which this one continues; or a secret of the client's own. */
  session?: string
  /** The process that started the client, on this machine. */
  host?: number
  /** The client's own process, on this machine. The client proves that by its title: see machine/process-tree.ts. */
  process?: number
  /** The working directory of the client's process: programs that the agent has started without a directory work there, if nothing better is known. */
  cwd?: string
  /** A hook's ancestor processes, the nearest first. A hook knows no token: it speaks for the agent that one of these started. */
  hosts?: number[]
  /** The conversation that the hook belongs to: several of them may share a host. */
  thread?: string
  /** With `mcp` the client speaks the first protocol: its mail is sent to it by DELIVER as it comes, without asking. */
  capabilities?: string[]
  /** The ids of the earlier session's calls whose answers have not arrived: what they handed out was not received. */
  calls?: string[]
}

export interface Welcome {
  /** A secret, which continues this session when a later HELLO shows it. Others know the session by another id. */
  session: string
  workspace: string
  workspaceId: string
  version: string
  agent?: string
  token?: string
  /** Why the agent got another name than it asked for, where that name is a person's second one. */
  because?: string
  /** The tool by which the model of a hook's agent answers, where it is not `relay_send`. */
  sendTool?: string
  seq: number
}

export interface Call {
  op: string
  input?: unknown
}
