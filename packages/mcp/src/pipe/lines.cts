// Splits chunks of bytes into whole lines, and limits the bytes that it keeps. It does not parse the lines.

const newline = 10
/** The bytes kept of a too long line at either end: enough to find the id of a request. */
const edgeBytes = 512

export interface LineSink {
  /** Called with a line and its newline, so that it can be passed on as it is. */
  line(line: Buffer): void
  tooLong(head: string, tail: string): void
}

export class LineSplitter {
  readonly #bytesMax: number
  readonly #sink: LineSink
  #pieces: Buffer[] = []
  #bytes = 0
  #head: string | undefined

  constructor(bytesMax: number, sink: LineSink) {
    this.#bytesMax = bytesMax
    this.#sink = sink
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      this.#finish()
      start = end + 1
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
  }

  /** Drops an unfinished line, whose sender is gone. */
  reset(): void {
    this.#pieces = []
    this.#bytes = 0
    this.#head = undefined
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes <= this.#bytesMax) return
    const whole = Buffer.concat(this.#pieces)
    this.#head ??= whole.toString('utf8', 0, edgeBytes)
    this.#pieces = [Buffer.from(whole.subarray(-edgeBytes))]
    this.#bytes = this.#bytesMax
  }

  #finish(): void {
    const head = this.#head
    const line = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.reset()
    if (head !== undefined) this.#sink.tooLong(head, line.toString())
    else if (line.length > 2 || line.toString().trim() !== '') this.#sink.line(line)
  }
}
