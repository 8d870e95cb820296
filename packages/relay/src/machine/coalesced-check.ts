// Schedules the next check of something that may have changed: the earliest request decides when, and one check serves all requests.

export class CoalescedCheck {
  readonly #check: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Number.POSITIVE_INFINITY
  #isEnded = false

  constructor(check: () => void) {
    this.#check = check
  }

  /** Checks after this time at the latest. */
  within(ms: number): void {
    const at = performance.now() + ms
    if (this.#isEnded || at >= this.#at) return
    clearTimeout(this.#timer)
    this.#at = at
    this.#timer = setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY
      this.#check()
    }, ms).unref()
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }
}
