// The wire of ACP: JSON-RPC, one message a line, on the stdin and stdout of a program. Every line is bounded, and other output of the program is
// skipped. The messages are handled in acp-control.ts.

import type { Readable, Writable } from 'node:stream'
import { JsonRpc, type RpcListener } from '../json-rpc.ts'
import { errors } from './acp-schemas.ts'

/** Longest line: a step of an agent may hold a whole file, twice. A longer line is skipped; if it was a request, it is refused. */
export const lineBytesMax = 8 * 1024 * 1024
/** Most bytes that may wait for a program that does not read. */
const waitingBytesMax = 8 * 1024 * 1024
/** Bytes kept of a line that is too long: enough to find the id of a request. */
const headBytes = 4_096
/** Pieces of a line after which they are joined, since each piece costs more than the bytes in it. */
const piecesMax = 1_000
/** Longest id of a request; it is kept until the request is answered. */
const askedIdCharsMax = 1_000
export interface AcpListener extends RpcListener {
  /** Called when the program has written something that is not ACP. */
  onStray(text: string): void
  /** Called when the program has not read for so long that nothing more can be sent to it. */
  onStuck(): void
}

export class AcpWire {
  readonly #stdin: Writable
  readonly #listener: AcpListener
  readonly #rpc: JsonRpc
  #parts: Buffer[] = []
  /** The number of parts that were joined of smaller ones. They are not joined again, so each byte is copied twice at most. */
  #joined = 0
  #partsBytes = 0

  constructor(stdin: Writable, stdout: Readable, listener: AcpListener) {
    this.#stdin = stdin
    this.#listener = listener
    this.#rpc = new JsonRpc((message) => this.#send(message), {
      ...listener,
      onRequest: (method, params, reply, id) =>
        isId(id)
          ? listener.onRequest(method, params, reply, id)
          : reply.error(errors.invalid, `an id has at most ${askedIdCharsMax} characters`),
    })
    // Errors are ignored: the end of a program is known by its exit.
    stdin.on('error', () => {})
    stdout.on('error', () => {})
    stdout.on('data', (data: Buffer) => this.#read(data))
  }

  /** `withinMs` left out: no time limit, since a turn may take hours. */
  call(method: string, params: object, withinMs?: number): Promise<unknown> {
    return this.#rpc.call(method, params, withinMs)
  }

  note(method: string, params: object): void {
    this.#rpc.note(method, params)
  }

  /** Closes the wire: nothing more is sent or read, and open calls fail. */
  close(): void {
    this.#rpc.end()
    this.#stdin.end()
  }

  #send(message: object): void {
    this.#stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    if (this.#stdin.writableLength > waitingBytesMax) this.#listener.onStuck()
  }

  #read(data: Buffer): void {
    let from = 0
    for (let end = data.indexOf(0x0a); end >= 0 && !this.#rpc.isOver; end = data.indexOf(0x0a, from)) {
      this.#keep(data.subarray(from, end))
      from = end + 1
      const [bytes, parts] = [this.#partsBytes, this.#parts]
      this.#parts = []
      this.#joined = 0
      this.#partsBytes = 0
      if (bytes > lineBytesMax) this.#passOver(parts, bytes)
      else if (bytes > 0) this.#rpc.hear(Buffer.concat(parts).toString('utf8'))
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
      // Too long: only its head is needed from now on, as a copy that does not keep the rest in memory.
    } else if (this.#parts.length !== 1) this.#parts = [Buffer.from(Buffer.concat(this.#parts).subarray(0, headBytes))]
  }

  #passOver(parts: readonly Buffer[], bytes: number): void {
    const head = Buffer.concat(parts).subarray(0, headBytes).toString('utf8')
    this.#listener.onStray(`a line of ${bytes} bytes, which is too long`)
    const id = requestId(head)
    if (id !== undefined) this.#rpc.reply(id).error(errors.invalid, `a message has at most ${lineBytesMax} bytes`)
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
