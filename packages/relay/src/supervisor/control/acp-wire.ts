// The wire of ACP: JSON-RPC, one message a line, on the stdin and stdout of a program. Every line is bounded, each request of the program is
// answered once, and what the program writes besides is passed over. What the messages mean is decided in acp-control.ts.

import type { Readable, Writable } from 'node:stream'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { errors } from './acp-words.ts'

/** A step of an agent may hold a whole file, twice. A longer line is passed over; if it was a request, it is refused. */
export const lineBytesMax = 8 * 1024 * 1024
/** What may wait for a program that does not read. */
const waitingBytesMax = 8 * 1024 * 1024
/** Of a line that is too long: as much as names a request. */
const headBytes = 4_096
/** Of a line that comes in small pieces: so many are joined, since each costs more than the bytes in it. */
const piecesMax = 1_000
/** It is kept until its request is answered. */
const askedIdCharsMax = 1_000
/** Of what is not ours to understand: as much as is shown. */
const strayCharsMax = 200

export interface AcpListener {
  /** Answered by exactly one of the two functions; what is not answered at once may be answered later. */
  onRequest(method: string, params: unknown, reply: Reply): void
  onNote(method: string, params: unknown): void
  /** The program has written what no ACP program writes. */
  onStray(text: string): void
  /** It has not read for so long that nothing more can be said to it. */
  onStuck(): void
}

export interface Reply {
  result(value: object): void
  error(code: number, message: string): void
}

interface Pending {
  resolve(result: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout | undefined
}

/** The program has answered, and said no. */
export class AcpRefusal extends Error {}

export class AcpWire {
  readonly #stdin: Writable
  readonly #listener: AcpListener
  readonly #pending = new Map<number, Pending>()
  #calls = 0
  #parts: Buffer[] = []
  /** How many of the parts were joined of smaller ones. They are not joined again: each byte is copied twice at most. */
  #joined = 0
  #partsBytes = 0
  #isOver = false

  constructor(stdin: Writable, stdout: Readable, listener: AcpListener) {
    this.#stdin = stdin
    this.#listener = listener
    // A program that has ended is known by its exit.
    stdin.on('error', () => {})
    stdout.on('error', () => {})
    stdout.on('data', (data: Buffer) => this.#read(data))
  }

  /** `withinMs` left out: a turn may take hours. */
  call(method: string, params: object, withinMs?: number): Promise<unknown> {
    const id = this.#calls++
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(new Error('it has ended'))
      const giveUp = () => this.#settle(id, ({ reject }) => reject(new Error(`it did not answer ${method}`)))
      const timer = withinMs === undefined ? undefined : setTimeout(giveUp, withinMs)
      this.#pending.set(id, { resolve, reject, timer })
      this.#send({ id, method, params })
    })
  }

  note(method: string, params: object): void {
    this.#send({ method, params })
  }

  /** Nothing more is said or heard; calls that are open fail. */
  close(): void {
    this.#isOver = true
    for (const id of [...this.#pending.keys()]) this.#settle(id, ({ reject }) => reject(new Error('it has ended')))
    this.#stdin.end()
  }

  #send(message: object): void {
    if (this.#isOver) return
    this.#stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    if (this.#stdin.writableLength > waitingBytesMax) this.#listener.onStuck()
  }

  #read(data: Buffer): void {
    let from = 0
    for (let end = data.indexOf(0x0a); end >= 0 && !this.#isOver; end = data.indexOf(0x0a, from)) {
      this.#keep(data.subarray(from, end))
      from = end + 1
      const [bytes, parts] = [this.#partsBytes, this.#parts]
      this.#parts = []
      this.#joined = 0
      this.#partsBytes = 0
      if (bytes > lineBytesMax) this.#passOver(parts, bytes)
      else if (bytes > 0) this.#hear(Buffer.concat(parts).toString('utf8'))
    }
    this.#keep(data.subarray(from))
  }

  #keep(part: Buffer): void {
    this.#partsBytes += part.length
    if (part.length === 0) return
    if (this.#partsBytes <= lineBytesMax) {
      this.#parts.push(part)
      if (this.#parts.length - this.#joined < piecesMax) return
      this.#parts.push(Buffer.concat(this.#parts.splice(this.#joined)))
      this.#joined = this.#parts.length
      // Too long: only its head is needed from now on, as a copy that does not keep the rest.
    } else if (this.#parts.length !== 1) this.#parts = [Buffer.from(Buffer.concat(this.#parts).subarray(0, headBytes))]
  }

  #passOver(parts: readonly Buffer[], bytes: number): void {
    const head = Buffer.concat(parts).subarray(0, headBytes).toString('utf8')
    this.#listener.onStray(`a line of ${bytes} bytes, which is too long`)
    const id = requestId(head)
    if (id !== undefined) this.#reply(id).error(errors.invalid, `a message has at most ${lineBytesMax} bytes`)
  }

  #hear(text: string): void {
    let message: { id?: unknown; method?: unknown; params?: unknown; result?: unknown; error?: unknown }
    try {
      message = parseJson(text) as typeof message
    } catch {
      return this.#listener.onStray(text.slice(0, strayCharsMax))
    }
    if (typeof message !== 'object' || message === null) return this.#listener.onStray(text.slice(0, strayCharsMax))
    const { id, method, params, result, error } = message
    if (typeof method === 'string') {
      if (id === undefined) this.#listener.onNote(method, params)
      else if (!isId(id)) this.#reply(id).error(errors.invalid, `an id has at most ${askedIdCharsMax} characters`)
      else this.#listener.onRequest(method, params, this.#reply(id))
    } else if (typeof id === 'number')
      this.#settle(id, (pending) =>
        error === undefined || error === null
          ? pending.resolve(result)
          : pending.reject(new AcpRefusal(errorText(error))),
      )
  }

  #reply(id: unknown): Reply {
    let isAnswered = false
    const once = (answer: object) => {
      if (!isAnswered) this.#send({ id, ...answer })
      isAnswered = true
    }
    return {
      result: (result) => once({ result }),
      error: (code, message) => once({ error: { code, message } }),
    }
  }

  #settle(id: number, settle: (pending: Pending) => void): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    settle(pending)
  }
}

function isId(id: unknown): boolean {
  return typeof id === 'string' ? id.length <= askedIdCharsMax : typeof id === 'number' || id === null
}

/** The id of a request by the beginning of its line, in the two orders in which programs write it. */
function requestId(head: string): unknown {
  const id = String.raw`"id":(\d{1,15}|"[^"\\]{0,200}")`
  const method = String.raw`"method":"[^"\\]{1,200}"`
  const start = new RegExp(`^\\{"jsonrpc":"2\\.0",(?:${id},${method}|${method},${id}),"params":`).exec(head)
  const found = start?.[1] ?? start?.[2]
  return found === undefined ? undefined : JSON.parse(found)
}

const errorCharsMax = 500

function errorText(error: unknown): string {
  const { message, data } = error as { message?: unknown; data?: unknown }
  const more = typeof data === 'object' && data !== null ? (data as { details?: unknown }).details : data
  const words = [message, more].filter((each) => typeof each === 'string')
  return (words.length > 0 ? words.join(': ') : JSON.stringify(error)).slice(0, errorCharsMax)
}
