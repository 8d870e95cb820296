// Pseudo-random numbers from a seed: the same seed gives the same numbers.

export class Random {
  readonly seed: number
  #state: number

  constructor(seed: number) {
    this.seed = seed >>> 0
    this.#state = this.seed
  }

  /** A generator with a different seed each time. */
  static withNewSeed(): Random {
    return new Random(Date.now() % 1_000_000_007)
  }

  /** Returns a number in [0, 1). The algorithm is mulberry32, which is small and good enough for choosing test data. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  /** Returns a whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }
}
