// One gigabyte from one worker.

import { expect, test } from 'vitest'
import { flood } from './scenarios/flood.ts'

test('1 GB neither stalls the daemon nor grows it', async () => {
  const figures = await flood(1_000_000_000)
  process.stdout.write(`flood: ${JSON.stringify(figures)}\n`)
  expect(figures.lastLine).toBe('the end')
  expect(figures.lagMs).toBeLessThan(50)
  expect(figures.grownMb).toBeLessThan(120)
})
