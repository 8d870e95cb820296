// The short form of the flood: a hundred megabytes.

import { expect, test } from 'vitest'
import { flood } from '../crash/scenarios/flood.ts'

test('100 MB neither stall the daemon nor grow it', async () => {
  const figures = await flood(100_000_000)
  process.stdout.write(`flood: ${JSON.stringify(figures)}\n`)
  expect(figures.lastLine).toBe('the end')
  expect(figures.lagMs).toBeLessThan(50)
  expect(figures.grownMb).toBeLessThan(120)
}, 60_000)
