// Requests a list again when something hints at a change, and now and then without a hint, but not too often.

import { connection } from './connection.ts'

export interface RefreshOptions {
  /** The shortest time between two requests for the list. */
  minMs: number
  /** The longest time between two requests for the list while the page is visible. Unset: requests come only after hints. */
  idleMs?: number
}

/** A list that is slow to load is requested less often: the pause is this many times as long as the request took. */
const slowListFactor = 20
/** The longest pause after a slow request: one slow moment must not leave the page out of date for long. */
const restMaxMs = 4_000
const hiddenFactor = 5

export class ListRefresher {
  readonly #ask: () => Promise<void>
  readonly #options: RefreshOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsking = false
  #isHinted = false
  #restMs = 0
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(ask: () => Promise<void>, options: RefreshOptions) {
    this.#ask = ask
    this.#options = options
  }

  hint(): void {
    this.#isHinted = true
    this.#plan()
  }

  #plan(): void {
    if (this.#isAsking) return
    clearTimeout(this.#timer)
    const { minMs, idleMs } = this.#options
    const idle = idleMs === undefined ? undefined : idleMs * (document.hidden ? hiddenFactor : 1)
    const wait = this.#isHinted ? minMs : idle
    if (wait === undefined) return
    const due = this.#askedAt + Math.max(wait, this.#restMs) - performance.now()
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, due))
  }

  async #run(): Promise<void> {
    this.#isAsking = true
    this.#isHinted = false
    this.#askedAt = performance.now()
    try {
      if (connection.value.phase === 'up') await this.#ask()
    } catch {
      // The daemon is away or has refused the request: the page shows the state of the connection, and the next request corrects the list.
    }
    this.#restMs = Math.min(restMaxMs, (performance.now() - this.#askedAt) * slowListFactor)
    this.#isAsking = false
    this.#plan()
  }
}

/**
 * Keeps the former object of each item that has not changed, so that React does not draw the item again. Lists are requested often, and little in them changes.
 */
export function reuseUnchanged<T>(before: readonly T[], now: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const known = new Map(before.map((item) => [keyOf(item), item]))
  return now.map((item) => {
    const former = known.get(keyOf(item))
    return former !== undefined && JSON.stringify(former) === JSON.stringify(item) ? former : item
  })
}
