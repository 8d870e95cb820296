// A queue between a watch, whose items arrive at any time, and an async iterator, which asks for one item at a time.

import type { RelayError } from '../errors.ts'

interface Waiting<T> {
  resolve(item: T | undefined): void
  reject(error: RelayError): void
}

export class ItemQueue<T> {
  readonly #items: T[] = []
  readonly #waiting: Waiting<T>[] = []
  #failure?: RelayError
  #isOver = false

  get size(): number {
    return this.#items.length
  }

  get isOver(): boolean {
    return this.#isOver || this.#failure !== undefined
  }

  push(item: T): void {
    if (this.isOver) return
    const waiting = this.#waiting.shift()
    if (waiting) waiting.resolve(item)
    else this.#items.push(item)
  }

  /** Returns the next item; undefined once the queue has ended. */
  next(): Promise<T | undefined> {
    const item = this.#items.shift()
    if (item !== undefined) return Promise.resolve(item)
    if (this.#failure) return Promise.reject(this.#failure)
    if (this.#isOver) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** Ends the queue; items in it are dropped. */
  finish(): void {
    this.#isOver = true
    this.#items.length = 0
    for (const { resolve } of this.#waiting.splice(0)) resolve(undefined)
  }

  /** Ends the queue with an error. Items that are in the queue are still handed out before the error. */
  fail(error: RelayError): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** A `for await` loop in the program that the relay can end from outside. */
export interface EndableLoop {
  /** Ends the loop; resolves when the daemon has stored the loop's last read marks. */
  finish(): Promise<void>
  fail(error: RelayError): void
}

/** The running loops of a relay. They end when the program closes the relay or the daemon refuses it. */
export class RunningLoops {
  readonly #open = new Set<EndableLoop>()

  add(stream: EndableLoop): void {
    this.#open.add(stream)
  }

  drop(stream: EndableLoop): void {
    this.#open.delete(stream)
  }

  async finish(): Promise<void> {
    await Promise.all([...this.#open].map((stream) => stream.finish()))
  }

  fail(error: RelayError): void {
    for (const stream of this.#open) stream.fail(error)
  }
}

/** Runs `work` when the signal is aborted; the returned function unsubscribes. */
export function onAbort(signal: AbortSignal | undefined, work: () => void): () => void {
  if (signal?.aborted) work()
  signal?.addEventListener('abort', work)
  return () => signal?.removeEventListener('abort', work)
}
