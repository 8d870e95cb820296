// Requests a list again, but not too often: when something hints at a change, and now and then without a hint.

import { connection } from './connection.ts'

export interface RefreshOptions {
  /** The shortest time between two requests. */
  minMs: number
  /** The longest time between two requests while the page is visible. Unset: requests come only after hints. */
  idleMs?: number
}

/** A slow list is requested less often: it rests for this many times as long as the request took. */
const slowListFactor = 20
/** The longest such rest: one slow moment must not leave the page out of date for long. */
const restMaxMs = 4_000
const hiddenFactor = 5

export class Refresh {
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
      // The daemon is away, or refused: the connection shows that, and the next request corrects the list.
    }
    this.#restMs = Math.min(restMaxMs, (performance.now() - this.#askedAt) * slowListFactor)
    this.#isAsking = false
    this.#plan()
  }
}

/** Keeps the former object of each unchanged item, so that it is not drawn again. A list comes often, and little of it changes. */
export function keepSame<T>(before: readonly T[], now: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const known = new Map(before.map((item) => [keyOf(item), item]))
  return now.map((item) => {
    const former = known.get(keyOf(item))
    return former !== undefined && JSON.stringify(former) === JSON.stringify(item) ? former : item
  })
}
