// Readers that do not read, and more data for them than memory should hold.

import { stalledReaders, stallReaders } from '@agent-relay/prove/scenarios/stalls'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { expectNoLeak } from '../guard.ts'
import { isFull, sized } from '../size.ts'

const megabytes = sized(20, 200)
const why = 'session.stalled'

test(`stalled readers of ${megabytes} MB`, async () => {
  // The reader that stays away does so for 7 s.
  const readers = isFull ? stalledReaders : stalledReaders.filter((reader) => reader !== 'away')
  const report = await stallReaders(megabytes, readers, { relay: installedRelay })
  process.stdout.write(`stalls: ${JSON.stringify(report)}\n`)
  expect(report.missed).toEqual({})
  expect(report.goodbyes).toEqual({ inbox: why, events: why, calls: why, pings: why })
  expect(report.busy.failures).toEqual([])
  // What is offered in the short size could be kept whole, and nobody would see it in the memory.
  if (isFull) expectNoLeak(report.rssMbMax - report.rssMbBefore, 50)
})
