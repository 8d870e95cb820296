// Hostile frames, made by hand and by mutation: no crash, no effect on another session, bounded memory.

import { expect, test } from 'vitest'
import { hostileFrames, unkindMbMax } from '../../packages/relay/src/prove/scenarios/fuzz.ts'
import { isFull, sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'

const count = sized(5_000, 1_000_000)

test(`${count.toLocaleString('en')} mutated frames`, async () => {
  const { wrong, faults, witness, daemonErrors, ...figures } = await hostileFrames(seeded('mutated frames'), {
    mutated: count,
  })
  process.stdout.write(`frames: ${JSON.stringify({ ...figures, witness })}\n`)
  expect([...wrong, ...faults]).toEqual([])
  expect(witness.failures).toEqual([])
  // 0.15 s was measured: the daemon does not go on with the work of a client that has left.
  if (isFull) expect(witness.maxMs).toBeLessThan(2_000)
  expect(daemonErrors).toBe('')
  expect(figures.exit).toBe(0)
  expect(figures.rssMb.unkind - figures.rssMb.before).toBeLessThan(unkindMbMax)
  expect(figures.rssMb.after - figures.rssMb.warm).toBeLessThan(32)
})
