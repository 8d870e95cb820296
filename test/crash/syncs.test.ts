// Acknowledgements under strace, and syncs that fail.

import { whyNoStrace } from '@agent-relay/prove/harness/strace'
import { traceSyncBeforeAck } from '@agent-relay/prove/scenarios/syncs'
import { describe, expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { isFull, sized } from '../size.ts'
import { type FailedSyncReport, failSync } from './scenarios/failed-syncs.ts'

const reason = whyNoStrace()
if (reason) process.stdout.write(`syncs: skipped, ${reason}\n`)

const acks = sized(50, 1_000)

describe.skipIf(reason)('the disk', () => {
  test(`${acks} acknowledgements leave after the sync of their entry`, async () => {
    const { faults, ...figures } = await traceSyncBeforeAck(acks, { relay: installedRelay })
    process.stdout.write(`syncs: ${JSON.stringify(figures)}\n`)
    expect(faults).toEqual([])
    expect(figures.acks).toBeGreaterThanOrEqual(acks)
  })

  test.for(sized([5, 12], [1, 2, 3, 5, 8, 12, 17, 23, 30, 38, 47, 57]))(
    'nothing is acknowledged after sync %i failed',
    async (failing) => {
      const { faults, ...figures } = isFull ? await failSync(failing) : await failLogSync(failing)
      process.stdout.write(`failed sync: ${JSON.stringify(figures)}\n`)
      expect(faults).toEqual([])
      if (figures.of === 'log')
        expect(figures).toMatchObject({ exitCode: 1, reason: expect.stringMatching(/disk I\/O error/) })
    },
  )
})

/** Fails this sync, or the next one that is the log's: which sync is the folder's depends on when the daemon's threads come to it. */
async function failLogSync(failing: number): Promise<FailedSyncReport> {
  const report = await failSync(failing)
  return report.of === 'log' || report.faults.length > 0 ? report : failLogSync(failing + 1)
}
