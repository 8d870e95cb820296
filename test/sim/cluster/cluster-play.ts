// One seed of the simulated cluster, and the tests that play many of them. A failure prints its seed.

import { expect, test } from 'vitest'
import { sized } from '../../size.ts'
import { testSeeds } from '../seeds.ts'
import { ClusterRun } from './cluster-run.ts'
import type { Plant } from './machines.ts'

/** Each takes about 35 ms of one core, the first hundred twice that. Every fault that planted.test.ts plants is found by then. */
const seedsDefault = sized(120, 5_000)
/** They found something: the late note of a former home, and a question that outlives its session. */
const seedsOfFaults = [3_296, 3_434, 4_331, 4_995]
const seedsPerTest = 10
/** Every so many seeds the cluster loses what it had acknowledged. */
const lossyEvery = 6

export async function playCluster(seed: number, plant?: Plant): Promise<void> {
  const run = new ClusterRun(seed, plant)
  try {
    await run.play(seed % lossyEvery === 0)
  } catch (error) {
    const story = run.log.slice(-40).map((line) => `    ${line}`)
    const what = `seed ${seed}, ${run.machines.length} machines: ${(error as Error).message}`
    const again = `  again: SIM_SEED=${seed} npx vitest run test/sim/cluster`
    throw new Error([what, '  before it:', ...story, again].join('\n'), { cause: error })
  } finally {
    run.close()
  }
}

export function playClusterSeeds(): void {
  testSeeds(playCluster, seedsDefault, seedsPerTest)
  test.each(seedsOfFaults)('seed %i, which found a fault', (seed) => expect(playCluster(seed)).resolves.toBeUndefined())
}
