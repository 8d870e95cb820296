// Random numbers for a test: another seed each time, which is printed, so that `RELAY_TEST_SEED` repeats a run.

import { Random } from '@agent-relay/prove/harness/random'

export function seeded(what: string): Random {
  const { RELAY_TEST_SEED: seed } = process.env
  const random = seed === undefined ? Random.withNewSeed() : new Random(Number(seed))
  process.stdout.write(`${what}: seed ${random.seed}\n`)
  return random
}
