// The short form of the hostile frames: all made by hand, and twenty thousand mutations.

import { expect, test } from 'vitest'
import { hostileFrames, unkindMbMax } from '../crash/scenarios/fuzz.ts'

test('20,000 mutated frames', async () => {
  const { wrong, faults, witness, daemonErrors, ...figures } = await hostileFrames(20_000)
  process.stdout.write(`frames: ${JSON.stringify({ ...figures, witness })}\n`)
  expect([...wrong, ...faults]).toEqual([])
  expect(witness.failures).toEqual([])
  expect(daemonErrors).toBe('')
  expect(figures.exit).toBe(0)
  expect(figures.rssMb.unkind - figures.rssMb.before).toBeLessThan(unkindMbMax)
  expect(figures.rssMb.after - figures.rssMb.warm).toBeLessThan(32)
}, 60_000)
