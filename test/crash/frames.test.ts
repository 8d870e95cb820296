// Hostile frames, made by hand and by mutation: no crash, no effect on another session, bounded memory.

import { hostileFrames } from '@agent-relay/prove/scenarios/fuzz'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { expectNoLeak } from '../guard.ts'
import { sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'

const count = sized(5_000, 1_000_000)

test(`${count.toLocaleString('en')} mutated frames`, async () => {
  const report = await hostileFrames(seeded('mutated frames'), { mutated: count }, { relay: installedRelay })
  const { wrong, faults, witness, daemonErrors, ...figures } = report
  process.stdout.write(`frames: ${JSON.stringify({ ...figures, witness })}\n`)
  expect([...wrong, ...faults]).toEqual([])
  expect(witness.failures).toEqual([])
  expect(daemonErrors).toBe('')
  expect(figures.exit).toBe(0)
  expectNoLeak(figures.rssMb.after - figures.rssMb.warm, 16)
})
