// Two hundred megabytes for readers that do not read.

import { expect, test } from 'vitest'
import { stall } from './scenarios/stalls.ts'

test('stalled readers of 200 MB', async () => {
  const report = await stall(200)
  process.stdout.write(`stalls: ${JSON.stringify(report)}\n`)
  const why = 'session.stalled'
  expect(report.missed).toEqual({})
  expect(report.goodbyes).toEqual({ inbox: why, events: why, calls: why, pings: why })
  expect(report.rssMbMax - report.rssMbBefore).toBeLessThan(64)
  expect(report.busy.failures).toEqual([])
  expect(report.busy.p99Ms).toBeLessThan(2 * report.quiet.p99Ms + 100)
})
