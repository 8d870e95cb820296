// One worker prints more than memory should hold.

import { expect, test } from 'vitest'
import { expectNoLeak } from '../guard.ts'
import { sized } from '../size.ts'
import { flood } from './scenarios/flood.ts'

const megabytes = sized(10, 1_000)

test(`${megabytes} MB do not grow the daemon, which goes on with the calls of others`, async () => {
  const figures = await flood(megabytes * 1_000_000)
  process.stdout.write(`flood: ${JSON.stringify(figures)}\n`)
  expect(figures.lastLine).toBe('the end')
  expect(figures.calls).toBeGreaterThan(0)
  expectNoLeak(figures.grownMb, 60)
})
