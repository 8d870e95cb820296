// Hostile frames, made by hand and by a million mutations: no crash, no effect on another session, bounded memory.

import { expect, test } from 'vitest'
import { hostileFrames, unkindMbMax } from './scenarios/fuzz.ts'

test('a million mutated frames', async () => {
  const { wrong, faults, witness, daemonErrors, ...figures } = await hostileFrames(1_000_000)
  process.stdout.write(`frames: ${JSON.stringify({ ...figures, witness })}\n`)
  expect([...wrong, ...faults]).toEqual([])
  expect(witness.failures).toEqual([])
  expect(daemonErrors).toBe('')
  expect(figures.exit).toBe(0)
  expect(figures.rssMb.unkind - figures.rssMb.before).toBeLessThan(unkindMbMax)
  expect(figures.rssMb.after - figures.rssMb.warm).toBeLessThan(32)
})
