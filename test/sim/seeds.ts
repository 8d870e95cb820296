// The tests that play many seeds of a simulator. No tests of its own.

import { expect, test } from 'vitest'

/** `SIM_SEED=7` plays that seed alone, `SIM_SEEDS=1000` a thousand from it (or from 1) on. */
export function testSeeds(play: (seed: number) => Promise<void>, seedsDefault: number, seedsPerTest: number): void {
  const { SIM_SEED, SIM_SEEDS } = process.env
  const first = Number(SIM_SEED ?? 1)
  const count = Number(SIM_SEEDS ?? (SIM_SEED === undefined ? seedsDefault : 1))
  const seeds = Array.from({ length: count }, (_, i) => first + i)
  for (let i = 0; i < seeds.length; i += seedsPerTest) {
    const some = seeds.slice(i, i + seedsPerTest)
    test(`seeds ${some[0]} to ${some.at(-1)}`, async () => {
      for (const seed of some) await expect(play(seed)).resolves.toBeUndefined()
    })
  }
}
