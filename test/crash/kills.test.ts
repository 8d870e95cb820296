// Two hundred kills of the daemon under load: nothing acknowledged is lost, nothing is shown twice, order is kept.

import { expect, test } from 'vitest'
import { killUnderLoad } from './scenarios/kills.ts'

test('200 kills under load', async () => {
  const { faults, integrity, clientErrors, ...figures } = await killUnderLoad(200)
  process.stdout.write(`kills: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(clientErrors).toEqual([])
  expect(integrity).toBe('ok')
  expect(figures.acked).toBeGreaterThan(20_000)
})
