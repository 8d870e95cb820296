// The draws of a simulated run from its seed: the same seed gives the same run, on every machine.

import { Random as Numbers } from '@agent-relay/prove/harness/random'

export class Random extends Numbers {
  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring runs.
    super(Math.imul(seed + 1, 0x9e3779b1))
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  override pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from')
    return super.pick(items)
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
