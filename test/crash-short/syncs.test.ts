// The short form of the syncs: fifty acknowledgements, two that fail.

import { describe, expect, test } from 'vitest'
import { whyNoStrace } from '../crash/harness/strace.ts'
import { type FailedSyncReport, failSync, traceAcks } from '../crash/scenarios/syncs.ts'

const reason = whyNoStrace()
if (reason) process.stdout.write(`syncs: skipped, ${reason}\n`)

describe.skipIf(reason)('the disk', () => {
  test('50 acknowledgements leave after the sync of their entry', async () => {
    const { faults, ...figures } = await traceAcks(50)
    process.stdout.write(`syncs: ${JSON.stringify(figures)}\n`)
    expect(faults).toEqual([])
    expect(figures.acks).toBeGreaterThanOrEqual(50)
  })

  test.for([5, 12])('nothing is acknowledged after sync %i, or the next one of the log, failed', async (failing) => {
    const { faults, ...figures } = await failLogSync(failing)
    process.stdout.write(`failed sync: ${JSON.stringify(figures)}\n`)
    expect(faults).toEqual([])
    expect(figures).toMatchObject({ of: 'log', exitCode: 1, reason: expect.stringMatching(/disk I\/O error/) })
  })
})

/** Which sync is the folder's depends on when the daemon's threads come to it. */
async function failLogSync(failing: number): Promise<FailedSyncReport> {
  const report = await failSync(failing)
  return report.of === 'log' || report.faults.length > 0 ? report : failLogSync(failing + 1)
}
