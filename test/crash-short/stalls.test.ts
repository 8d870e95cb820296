// The short form of the stalled readers: twenty megabytes. What others feel is judged by the long one, which has the machine to itself.

import { expect, test } from 'vitest'
import { stall } from '../crash/scenarios/stalls.ts'

test('stalled readers of 20 MB', async () => {
  const report = await stall(20, ['inbox', 'events', 'calls', 'pings'])
  process.stdout.write(`stalls: ${JSON.stringify(report)}\n`)
  const why = 'session.stalled'
  expect(report.missed).toEqual({})
  expect(report.goodbyes).toEqual({ inbox: why, events: why, calls: why, pings: why })
  expect(report.rssMbMax - report.rssMbBefore).toBeLessThan(64)
  expect(report.busy.failures).toEqual([])
}, 60_000)
