// Reads the first line of a connection, which tells what follows: frames of the relay's own protocol, or the MCP lines of a stdio pipe.

import { parseJson } from '@agent-relay/sdk/protocol'

/** Returns the `mcp` part of a stdio pipe's HELLO; undefined for any other first line, which the connection will answer or refuse. */
export function readPipeHello(line: Uint8Array): unknown {
  const text = Buffer.from(line).toString()
  if (!text.includes('"mcp"')) return undefined
  try {
    const { type, payload } = parseJson(text) as { type?: unknown; payload?: { mcp?: unknown } }
    return type === 'HELLO' ? payload?.mcp : undefined
  } catch {
    return undefined
  }
}

/** Collects the bytes of a connection until the first newline, or until they are longer than a line may be. */
export class FirstLineReader {
  readonly #done: (line: Uint8Array, rest: Uint8Array) => void
  readonly #bytesMax: number
  #kept = Buffer.alloc(0)
  #bytes = 0

  constructor(done: (line: Uint8Array, rest: Uint8Array) => void, bytesMax: number) {
    this.#done = done
    this.#bytesMax = bytesMax
  }

  push(chunk: Buffer): void {
    const before = this.#bytes
    this.#keep(chunk)
    const end = chunk.indexOf(10)
    if (end < 0 && this.#bytes <= this.#bytesMax) return
    const at = end < 0 ? this.#bytes : before + end
    this.#done(this.#kept.subarray(0, at), this.#kept.subarray(at + 1, this.#bytes))
  }

  /** Appends to one growing buffer: the line may come as single bytes, and the bytes before must not be copied again for each. */
  #keep(chunk: Buffer): void {
    const bytes = this.#bytes + chunk.length
    if (bytes > this.#kept.length) {
      const grown = Buffer.alloc(Math.max(bytes, 2 * this.#kept.length))
      this.#kept.copy(grown, 0, 0, this.#bytes)
      this.#kept = grown
    }
    chunk.copy(this.#kept, this.#bytes)
    this.#bytes = bytes
  }
}
