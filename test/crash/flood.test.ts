// One worker prints more than memory should hold.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { flood } from './scenarios/flood.ts'

const megabytes = sized(10, 1_000)
// Beside other tests the daemon also waits for a processor: that spoils a round, and a stall of ours spoils all of them.
const rounds = sized(3, 1)

test(`${megabytes} MB neither stall the daemon nor grow it`, async () => {
  const lagsMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const figures = await flood(megabytes * 1_000_000)
    process.stdout.write(`flood: ${JSON.stringify(figures)}\n`)
    expect(figures.lastLine).toBe('the end')
    expect(figures.grownMb).toBeLessThan(120)
    lagsMs.push(figures.lagMs)
  }
  expect(Math.min(...lagsMs)).toBeLessThan(sized(150, 50))
})
