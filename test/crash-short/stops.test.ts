// The short form of the ends and beginnings: one of each.

import { expect, test } from 'vitest'
import { connectAtOnce, stopWithCallsInFlight } from '../crash/scenarios/stops.ts'

test('SIGTERM with 1,000 requests in flight', async () => {
  const { faults, ...figures } = await stopWithCallsInFlight(1_000, 0)
  process.stdout.write(`stop: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures).toMatchObject({ exitCode: 0, isSocketGone: true, integrity: 'ok', goodbyes: 10 })
  expect(figures.seconds).toBeLessThan(5)
})

test('1,000 sessions connect', async () => {
  const report = await connectAtOnce(1_000)
  process.stdout.write(`sessions: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ welcomed: 1_000, exitCode: 0 })
  // Two seconds alone on the machine; here other tests run beside it.
  expect(report.connectSeconds).toBeLessThan(15)
})
