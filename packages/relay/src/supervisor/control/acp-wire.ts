// Reads and writes the messages of ACP: JSON-RPC, one message per line, on a program's stdin and stdout. The length of a line is limited, and output
// that is not ACP is skipped. acp-control.ts handles the messages.

import type { Readable, Writable } from 'node:stream'
import { JsonRpc, type RpcListener } from '../json-rpc.ts'
import { rpcErrorCodes } from './acp-schemas.ts'

/** Maximum length of a line: a step of an agent may contain a whole file, twice. A longer line is skipped; if it was a request, the request is refused. */
export const acpLineBytesMax = 8 * 1024 * 1024
/** Maximum number of bytes that may wait to be written to a program that does not read. */
const waitingBytesMax = 8 * 1024 * 1024
/** Number of bytes that are kept of a line that is too long: enough to find the id of a request. */
const headBytes = 4_096
/** Number of pieces of an unfinished line after which they are joined into one, since each piece costs more memory than its bytes. */
const piecesMax = 1_000
/** Maximum length in characters of the id of a request, which is kept until the request is answered. */
const requestIdCharsMax = 1_000
export interface AcpWireListener extends RpcListener {
  /** Called when the program has written something that is not ACP. */
  onStray(text: string): void
  /** Called when too many bytes wait to be written, because the program does not read. */
  onStuck(): void
}

export class AcpWire {
  readonly #stdin: Writable
  readonly #listener: AcpWireListener
  readonly #rpc: JsonRpc
  #parts: Buffer[] = []
  /** The number of leading parts that were joined from smaller ones. They are not joined again, so each byte is copied twice at most. */
  #joined = 0
  #partsBytes = 0

  constructor(stdin: Writable, stdout: Readable, listener: AcpWireListener) {
    this.#stdin = stdin
    this.#listener = listener
    this.#rpc = new JsonRpc((message) => this.#send(message), {
      ...listener,
      onRequest: (method, params, reply, id) =>
        isBoundedId(id)
          ? listener.onRequest(method, params, reply, id)
          : reply.error(rpcErrorCodes.invalid, `an id has at most ${requestIdCharsMax} characters`),
    })
    // Errors of the streams are ignored: the exit of the program is noticed by itself.
    stdin.on('error', () => {})
    stdout.on('error', () => {})
    stdout.on('data', (data: Buffer) => this.#read(data))
  }

  /** Makes a call. Without `withinMs` there is no time limit, since a turn may take hours. */
  call(method: string, params: object, withinMs?: number): Promise<unknown> {
    return this.#rpc.call(method, params, withinMs)
  }

  notify(method: string, params: object): void {
    this.#rpc.notify(method, params)
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
      this.#keepPart(data.subarray(from, end))
      from = end + 1
      const [bytes, parts] = [this.#partsBytes, this.#parts]
      this.#parts = []
      this.#joined = 0
      this.#partsBytes = 0
      if (bytes > acpLineBytesMax) this.#skipLongLine(parts, bytes)
      else if (bytes > 0) this.#rpc.receive(Buffer.concat(parts).toString('utf8'))
    }
    this.#keepPart(data.subarray(from))
  }

  #keepPart(part: Buffer): void {
    this.#partsBytes += part.length
    if (part.length === 0) return
    if (this.#partsBytes <= acpLineBytesMax) {
      this.#parts.push(part)
      if (this.#parts.length - this.#joined < piecesMax) return
      this.#parts.push(Buffer.concat(this.#parts.splice(this.#joined)))
      this.#joined = this.#parts.length
      // The line is too long: only its beginning is kept, as a copy that does not keep the rest in memory.
    } else if (this.#parts.length !== 1) this.#parts = [Buffer.from(Buffer.concat(this.#parts).subarray(0, headBytes))]
  }

  #skipLongLine(parts: readonly Buffer[], bytes: number): void {
    const head = Buffer.concat(parts).subarray(0, headBytes).toString('utf8')
    this.#listener.onStray(`a line of ${bytes} bytes, which is too long`)
    const id = requestId(head)
    if (id !== undefined)
      this.#rpc.replyTo(id).error(rpcErrorCodes.invalid, `a message has at most ${acpLineBytesMax} bytes`)
  }
}

function isBoundedId(id: unknown): boolean {
  return typeof id === 'string' ? id.length <= requestIdCharsMax : typeof id === 'number' || id === null
}

/** Reads the id of a request from the beginning of its line, in the two orders of fields that programs use. */
function requestId(head: string): unknown {
  const id = String.raw`"id":(\d{1,15}|"[^"\\]{0,200}")`
  const method = String.raw`"method":"[^"\\]{1,200}"`
  const start = new RegExp(`^\\{"jsonrpc":"2\\.0",(?:${id},${method}|${method},${id}),"params":`).exec(head)
  const found = start?.[1] ?? start?.[2]
  return found === undefined ? undefined : JSON.parse(found)
}
