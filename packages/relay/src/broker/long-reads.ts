// Runs reads that may take long in one shared slice of time per turn of the event loop: a caller that reads a lot delays only itself.

import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'

/**
 * The time that all reads together get in one turn of the event loop. A call of another session needs several turns: with a million messages the slowest call
 * took 34 ms with a slice of 4 ms, and takes 22 ms with 2 ms. The reads themselves are no slower.
 */
export const readSliceMs = 2
/** Working time after which a read answers with its results so far, and with a cursor for the rest. */
const budgetMs = 250

export interface ReadTimeLimit {
  /** Whether the read's time is used up, so that it should answer with a cursor. */
  readonly isSpent: boolean
}

/** Measures the working time of one read against its limit. */
export class ReadTimeBudget implements ReadTimeLimit {
  readonly #ms: number
  #spentMs = 0
  #since: number | undefined

  constructor(ms: number = budgetMs) {
    this.#ms = ms
  }

  get spentMs(): number {
    return this.#spentMs + (this.#since === undefined ? 0 : performance.now() - this.#since)
  }

  get isSpent(): boolean {
    return this.spentMs >= this.#ms
  }

  /** Starts counting; the time that a read waits for other reads does not count. */
  start(): void {
    this.#since = performance.now()
  }

  stop(): void {
    if (this.#since !== undefined) this.#spentMs += performance.now() - this.#since
    this.#since = undefined
  }
}

export class LongReads {
  /** Reads that have not run yet. They go first, since most reads need only one turn. */
  readonly #fresh = new Set<Read>()
  readonly #long = new Set<Read>()
  #isPlanned = false

  /** The number of reads under way. */
  get size(): number {
    return this.#fresh.size + this.#long.size
  }

  /** Runs a read in steps, and resolves with its result. Takes no further step once `abandoned`. */
  run<T>(steps: Steps<T>, budget: ReadTimeBudget, abandoned: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#fresh.delete(read)
        this.#long.delete(read)
        reject(new RefusalError('call.abandoned'))
      }
      const end = <V>(settle: (value: V) => void) => {
        return (value: V) => {
          abandoned.removeEventListener('abort', giveUp)
          settle(value)
        }
      }
      const read: Read = { steps, budget, resolve: end(resolve as (value: unknown) => void), reject: end(reject) }
      if (abandoned.aborted) return giveUp()
      abandoned.addEventListener('abort', giveUp, { once: true })
      this.#fresh.add(read)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isPlanned || this.size === 0) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.#runTurn()
      this.#schedule()
    })
  }

  /**
   * Runs waiting reads for one slice of time. New reads get at most half of it, so that a flood of them does not stop the long reads for good. One read of each
   * kind runs even if a single step has used the slice up.
   */
  #runTurn(): void {
    const from = performance.now()
    this.#serve(this.#fresh, from + (this.#long.size > 0 ? readSliceMs / 2 : readSliceMs))
    this.#serve(this.#long, from + readSliceMs)
  }

  #serve(reads: Set<Read>, until: number): void {
    for (const read of reads) {
      reads.delete(read)
      // An unfinished read goes to the end of the queue.
      if (!proceed(read, until)) this.#long.add(read)
      if (performance.now() >= until) return
    }
  }
}

/** The reads of all workspaces of this process: they share one event loop, and so one slice of its time. */
export const sharedReads = new LongReads()

interface Read {
  steps: Steps<unknown>
  budget: ReadTimeBudget
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Takes at least one step of the read. Returns whether the read is over. */
function proceed({ steps, budget, resolve, reject }: Read, until: number): boolean {
  budget.start()
  try {
    do {
      const { done, value } = steps.next()
      if (!done) continue
      resolve(value)
      return true
    } while (performance.now() < until)
    return false
  } catch (error) {
    reject(error)
    return true
  } finally {
    budget.stop()
  }
}
