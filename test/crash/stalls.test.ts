// More than memory should hold, for readers that do not read.

import { expect, test } from 'vitest'
import { allReaders, type StallReport, stall } from '../../packages/relay/src/prove/scenarios/stalls.ts'
import { isFull, sized } from '../size.ts'

const megabytes = sized(20, 200)
const why = 'session.stalled'
const costMbMax = 64

test(`stalled readers of ${megabytes} MB`, async () => {
  // The reader that stays away does so for 7 s.
  const readers = isFull ? allReaders : allReaders.filter((reader) => reader !== 'away')
  const costOf = ({ rssMbMax, rssMbBefore }: StallReport) => rssMbMax - rssMbBefore
  let report = await stall(megabytes, readers)
  process.stdout.write(`stalls: ${JSON.stringify(report)}\n`)
  // 40 to 58 MB, and once 73, depending on when memory is collected: what really costs more does so twice.
  if (costOf(report) >= costMbMax) {
    report = await stall(megabytes, readers)
    process.stdout.write(`stalls, again: ${JSON.stringify(report)}\n`)
  }
  expect(report.missed).toEqual({})
  expect(report.goodbyes).toEqual({ inbox: why, events: why, calls: why, pings: why })
  expect(costOf(report)).toBeLessThan(costMbMax)
  expect(report.busy.failures).toEqual([])
  if (isFull) expect(report.busy.p99Ms).toBeLessThan(2 * report.quiet.p99Ms + 100)
})
