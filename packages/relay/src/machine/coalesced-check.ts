// Combines requests to check something that may have changed: one check serves all open requests, and runs at the earliest time that any of them has
// asked for.

export class CoalescedCheck {
  readonly #check: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Number.POSITIVE_INFINITY
  #isEnded = false

  constructor(check: () => void) {
    this.#check = check
  }

  /** Runs the check after `ms` milliseconds at the latest. */
  runWithin(ms: number): void {
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
