// One seed from its first step to its last audit, and the tests that play many of them. A failure prints its seed.

import { sized } from '../size.ts'
import { type Plant, Run } from './run.ts'
import { testSeeds } from './seeds.ts'
import { step } from './steps.ts'

/** Each takes about 20 ms of one core. Every fault that planted.test.ts plants is found by the twelfth. */
const seedsDefault = sized(100, 4_000)
const seedsPerTest = 100
/** Every so many seeds the database is a file, and a crash is what a copy of that file says. */
const onDiskEvery = 50
const auditEvery = 40
/** Every so many seeds a copy follows the journal. */
const followEvery = 5

export async function play(seed: number, plant?: Plant): Promise<void> {
  const run = await Run.begin(seed, seed % onDiskEvery === 0, plant)
  run.isFollowed = seed % followEvery === 0
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

export function playSeeds(): void {
  testSeeds(play, seedsDefault, seedsPerTest)
}
