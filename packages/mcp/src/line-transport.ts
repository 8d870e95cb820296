// MCP as lines of JSON over any stream of bytes: the daemon's side of a stdio pipe. It reports when an answer has been handed to the operating
// system.

import { JsonDepthError, limits, parseJson } from '@agent-relay/sdk/protocol'
import type { JSONRPCMessage, MessageExtraInfo, RequestId, Transport } from '@modelcontextprotocol/server'

/** The output to the other side of the connection. */
export interface LineWriter {
  write(line: string, flushed: (error?: Error | null) => void): void
  end(): void
}

/** Maximum size of one MCP line in bytes. The largest contains a run's payload of 8 MiB, with JSON escapes. */
export const mcpLineBytesMax = limits.lineBytesMax

const newline = 10
/** The id of a request at the start of its line; SDKs write it there or at the end. */
const idAtStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")/
const idAtEnd = /"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
const edgeChars = 300

export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #port: LineWriter
  readonly #decoder = new TextDecoder()
  readonly #sentListeners: ((id: RequestId) => void)[] = []
  #pieces: Uint8Array[] = []
  #bytes = 0
  #earlyLines: string[] | undefined = []
  #isClosed = false

  constructor(port: LineWriter) {
    this.#port = port
  }

  /** Tells the listener of each answer that has been handed to the operating system. */
  onSent(listener: (id: RequestId) => void): void {
    this.#sentListeners.push(listener)
  }

  async start(): Promise<void> {
    const early = this.#earlyLines ?? []
    this.#earlyLines = undefined
    for (const line of early) this.#deliver(line)
  }

  /** Processes received bytes. Drops bytes that come after the transport was closed: the other side may go on sending. */
  receive(chunk: Uint8Array): void {
    if (this.#isClosed) return
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end))
      if (this.#isClosed) return
      const line = this.#decoder.decode(join(this.#pieces, this.#bytes))
      this.#pieces = []
      this.#bytes = 0
      start = end + 1
      if (line.trim() === '') continue
      if (this.#earlyLines) this.#earlyLines.push(line)
      else this.#deliver(line)
    }
    this.#keep(chunk.subarray(start))
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#port.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error) return reject(error)
        const { id } = message as { id?: RequestId }
        if (id !== undefined && !('method' in message)) for (const sent of this.#sentListeners) sent(id)
        resolve()
      })
    })
  }

  async close(): Promise<void> {
    this.#port.end()
    this.markClosed()
  }

  /** Called when the other side is gone. */
  markClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return
    this.#pieces.push(new Uint8Array(piece))
    this.#bytes += piece.length
    if (this.#bytes <= mcpLineBytesMax) return
    this.#pieces = []
    this.onerror?.(new Error(`an MCP line is at most ${mcpLineBytesMax} bytes`))
    void this.close()
  }

  #deliver(line: string): void {
    let message: JSONRPCMessage
    try {
      message = parseJson(line) as JSONRPCMessage
    } catch (error) {
      const isTooDeep = error instanceof JsonDepthError
      const why = isTooDeep ? `this one is ${error.message}` : 'this one is not JSON'
      // The refusal has the request's id if the id can be found without parsing the line, since the sender waits for an answer with that id.
      return this.#refuse(
        -32700,
        `Parse error: a line is one JSON-RPC message; ${why}`,
        isTooDeep ? idOfTruncatedLine(line) : null,
      )
    }
    // Refuses a batch, which newer versions of MCP do not have: without an answer, its sender would wait.
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      return this.#refuse(-32600, 'Invalid request: a line is one JSON-RPC message, not a batch')
    this.onmessage?.(message)
  }

  #refuse(code: number, message: string, id: RequestId | null = null): void {
    this.#port.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`, () => {})
  }
}

function idOfTruncatedLine(line: string): RequestId | null {
  const found = (idAtStart.exec(line.slice(0, edgeChars)) ?? idAtEnd.exec(line.slice(-edgeChars)))?.[1]
  return found === undefined ? null : JSON.parse(found)
}

function join(pieces: Uint8Array[], bytes: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array
  const whole = new Uint8Array(bytes)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
