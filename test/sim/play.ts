// One seed from its first step to its last audit, and the tests that play many of them. A failure prints its seed.

import { test } from 'vitest'
import { Run } from './run.ts'
import { step } from './steps.ts'

/** Each takes about 12 ms of one core. */
const seedsDefault = 2_000
const seedsPerTest = 100
/** Every so many seeds the database is a file, and a crash is what a copy of that file says. */
const onDiskEvery = 50
const auditEvery = 40

export async function play(seed: number): Promise<void> {
  const run = await Run.begin(seed, seed % onDiskEvery === 0)
  const length = run.random.between(12, 45)
  let at = 0
  try {
    for (const name of run.random.some(['ada', 'bob', 'cy'], 4)) await run.arrive({ name, channels: ['#build'] })
    for (; at < length; at++) {
      await step(run)
      run.check()
      if (at % auditEvery === auditEvery - 1) run.audit()
    }
    if (seed % 3 === 0) run.rebuild()
    run.audit()
  } catch (error) {
    const story = run.log.slice(-20).map((line) => `    ${line}`)
    const what = `seed ${seed}, step ${at}: ${(error as Error).message}`
    const again = `  again: SIM_SEED=${seed} npx vitest run test/sim`
    throw new Error([what, '  before it:', ...story, again].join('\n'), { cause: error })
  } finally {
    run.close()
  }
}

/** `SIM_SEED=7` plays that seed alone, `SIM_SEEDS=1000` a thousand from it (or from 1) on; each file takes its half of them. */
export function playSeeds(half: 0 | 1): void {
  const { SIM_SEED, SIM_SEEDS } = process.env
  const first = Number(SIM_SEED ?? 1)
  const count = Number(SIM_SEEDS ?? (SIM_SEED === undefined ? seedsDefault : 1))
  const seeds = Array.from({ length: count }, (_, i) => first + i).filter((_, i) => i % 2 === half)
  for (let i = 0; i < seeds.length; i += seedsPerTest) {
    const some = seeds.slice(i, i + seedsPerTest)
    test(`seeds ${some[0]} to ${some.at(-1)}`, { timeout: 120_000 }, async () => {
      for (const seed of some) await play(seed)
    })
  }
  if (seeds.length === 0) test.skip('the other file plays them', () => {})
}
