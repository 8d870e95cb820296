// Random numbers from a seed: the same seed gives the same run, on every machine.

export class Random {
  #state: number

  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring runs.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  }

  /** mulberry32: 32 bits of state are plenty for a few thousand draws. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** From 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from')
    return items[this.below(items.length)] as T
  }

  maybe<T>(share: number, make: () => T): T | undefined {
    return this.chance(share) ? make() : undefined
  }

  some<T>(items: readonly T[], most: number): T[] {
    return items.length === 0 ? [] : Array.from({ length: this.between(1, most) }, () => this.pick(items))
  }

  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return (choices[choices.length - 1] as readonly [number, T])[1]
  }

  bytes(into: Uint8Array): void {
    for (let i = 0; i < into.length; i++) into[i] = this.below(256)
  }
}
