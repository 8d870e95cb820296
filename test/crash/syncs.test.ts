// A thousand acknowledgements under strace, and syncs that fail.

import { describe, expect, test } from 'vitest'
import { whyNoStrace } from './harness/strace.ts'
import { failSync, traceAcks } from './scenarios/syncs.ts'

const reason = whyNoStrace()
if (reason) process.stdout.write(`syncs: skipped, ${reason}\n`)

describe.skipIf(reason)('the disk', () => {
  test('1,000 acknowledgements leave after the sync of their entry', async () => {
    const { faults, ...figures } = await traceAcks(1_000)
    process.stdout.write(`syncs: ${JSON.stringify(figures)}\n`)
    expect(faults).toEqual([])
    expect(figures.acks).toBeGreaterThanOrEqual(1_000)
  })

  test.for([1, 2, 3, 5, 8, 12, 17, 23, 30, 38, 47, 57])(
    'nothing is acknowledged after sync %i failed',
    async (failing) => {
      const { faults, ...figures } = await failSync(failing)
      process.stdout.write(`failed sync: ${JSON.stringify(figures)}\n`)
      expect(faults).toEqual([])
      if (figures.of === 'log')
        expect(figures).toMatchObject({ exitCode: 1, reason: expect.stringMatching(/disk I\/O error/) })
    },
  )
})
