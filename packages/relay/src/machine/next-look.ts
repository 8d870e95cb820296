// Schedules the next look at something that may have changed: the earliest wish decides when, and one look serves all wishes.

export class NextLook {
  readonly #look: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Number.POSITIVE_INFINITY
  #isEnded = false

  constructor(look: () => void) {
    this.#look = look
  }

  /** Looks after this time at the latest. */
  within(ms: number): void {
    const at = performance.now() + ms
    if (this.#isEnded || at >= this.#at) return
    clearTimeout(this.#timer)
    this.#at = at
    this.#timer = setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY
      this.#look()
    }, ms).unref()
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }
}
