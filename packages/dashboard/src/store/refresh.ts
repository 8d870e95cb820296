// Asking again, but not too often: a list that is refreshed when something hints at a change, and now and then without one.

import { connection } from './connection.ts'

export interface RefreshOptions {
  /** Two askings are at least this far apart ... */
  minMs: number
  /** ... and at most this far, while the page is seen. Unset: only when hinted. */
  idleMs?: number
}

/** An answer that took long is asked for less often: not before this many times its own duration. */
const restFactor = 20
/** ... but a moment in which all was slow must not leave the page behind for long. */
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
      // Away or refused: the connection says so, and the next asking mends it.
    }
    this.#restMs = Math.min(restMaxMs, (performance.now() - this.#askedAt) * restFactor)
    this.#isAsking = false
    this.#plan()
  }
}
