// The short form of the kills: ten of them.

import { expect, test } from 'vitest'
import { killUnderLoad } from '../crash/scenarios/kills.ts'

test('10 kills under load', async () => {
  const { faults, integrity, clientErrors, ...figures } = await killUnderLoad(10)
  process.stdout.write(`kills: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(clientErrors).toEqual([])
  expect(integrity).toBe('ok')
  expect(figures.acked).toBeGreaterThan(300)
}, 60_000)
