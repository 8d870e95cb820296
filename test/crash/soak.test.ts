// Calls over HTTP sessions, SSE and pipes: the daemon's memory does not grow with their count.

import { expect, test } from 'vitest'
import { expectNoLeak } from '../guard.ts'
import { isFull, sized } from '../size.ts'
import { soak } from './scenarios/soak.ts'

const calls = sized(400, 100_000)

test(`${calls.toLocaleString('en')} calls over HTTP sessions, SSE and pipes`, async () => {
  const report = await soak(calls)
  process.stdout.write(`soak: ${JSON.stringify(report)}\n`)
  expect(report.failures).toEqual([])
  expect(report.daemonErrors).toBe('')
  expect(report.exit).toBe(0)
  // A few hundred calls are too few to tell a leak from warming up.
  if (isFull) expectNoLeak(report.rssMb.last - report.rssMb.third, 3)
  // Each of the six callers may have left a visit or two without a goodbye, which the daemon closes later. Over 100,000 calls these make no difference.
  expect(report.descriptors.last).toBeLessThanOrEqual(report.descriptors.third + sized(12, 5))
})
