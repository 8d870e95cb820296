// Limits the bytes that wait in a stream of server-sent events: a reader that takes nothing while too many bytes wait is disconnected.

export interface StreamLimits {
  /** Bytes that may wait for a reader that does not read. */
  waitingBytesMax: number
  /** A reader that takes nothing for this long while more than `waitingBytesMax` waits is cut off. Nothing is lost: the inbox keeps messages, the journal events. */
  stalledMs: number
}

/** A stream with more waiting bytes than this is cut off at once: it is more than any one answer. */
const waitingBytesLimit = 32 * 1024 * 1024

/** Limits a response that is a stream of events; returns any other response as it is. */
export function boundedResponse(response: Response, limits: StreamLimits): Response {
  const { body, status, headers } = response
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return response
  return new Response(new BoundedStream(body, limits).stream, { status, headers })
}

class BoundedStream {
  readonly stream: ReadableStream<Uint8Array>
  readonly #limits: StreamLimits
  readonly #source: ReadableStreamDefaultReader<Uint8Array>
  readonly #queue: Uint8Array[] = []
  #waitingBytes = 0
  #stall: ReturnType<typeof setTimeout> | undefined
  #wake: (() => void) | undefined
  #isOver = false

  constructor(source: ReadableStream<Uint8Array>, limits: StreamLimits) {
    this.#limits = limits
    this.#source = source.getReader()
    this.stream = new ReadableStream(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#end() },
      { highWaterMark: 0 },
    )
    void this.#drain()
  }

  /** Reads the source at once, whether anybody reads or not: bytes that wait inside the source could not be counted. */
  async #drain(): Promise<void> {
    try {
      for (let next = await this.#source.read(); !next.done && !this.#isOver; next = await this.#source.read()) {
        this.#queue.push(next.value)
        this.#waitingBytes += next.value.length
        this.#wake?.()
        if (this.#waitingBytes > waitingBytesLimit) return this.#end()
        if (this.#waitingBytes > this.#limits.waitingBytesMax) this.#stall ??= this.#startStall()
      }
    } catch {
      // The source broke: the bytes read before are still passed on.
    }
    this.#isOver = true
    this.#wake?.()
  }

  #startStall(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.#end(), this.#limits.stalledMs)
    timer.unref?.()
    return timer
  }

  #end(): void {
    this.#isOver = true
    this.#queue.length = 0
    clearTimeout(this.#stall)
    this.#source.cancel().catch(() => {})
    this.#wake?.()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#queue.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    const next = this.#queue.shift()
    if (next === undefined) return this.#close(controller)
    this.#waitingBytes -= next.length
    // The reader has taken something, so its time starts again, however many bytes still wait.
    clearTimeout(this.#stall)
    this.#stall = this.#waitingBytes > this.#limits.waitingBytesMax ? this.#startStall() : undefined
    controller.enqueue(next)
  }

  #close(controller: ReadableStreamDefaultController<Uint8Array>): void {
    clearTimeout(this.#stall)
    controller.close()
  }
}
