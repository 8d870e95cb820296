// Joins the lines that one turn of the event loop writes to a socket into one write: the answers of one commit leave together.

import type { Socket } from 'node:net'

type Flushed = (error?: Error | null) => void

export class BatchedWrites {
  readonly #socket: Socket
  #lines = ''
  /** Callbacks for when these lines have been sent, or are lost. */
  #flushed: Flushed[] = []

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** How much waits for the client to read it, in characters. */
  get waitingLength(): number {
    return this.#socket.writableLength + this.#lines.length
  }

  /**
   * Writes a line at the end of this turn of the event loop, together with the other lines of the turn. By then all promises that were settled in the turn have
   * been handled, so even a single line hardly waits.
   */
  write(line: string, flushed?: Flushed): void {
    if (this.#lines === '') process.nextTick(() => this.#flush())
    this.#lines += line
    if (flushed) this.#flushed.push(flushed)
  }

  /** Ends the socket after everything that was written. */
  end(): void {
    this.#flush()
    this.#socket.end()
  }

  #flush(): void {
    if (this.#lines === '') return
    const [lines, flushed] = [this.#lines, this.#flushed]
    this.#lines = ''
    this.#flushed = []
    this.#socket.write(lines, (error) => {
      for (const each of flushed) each(error)
    })
  }
}
