// Twenty processes race for one data directory, ten times, and as often for what a killed daemon left behind.

import { expect, test } from 'vitest'
import { raceForOneDirectory } from './scenarios/races.ts'

test('20 daemons race for one directory', async () => {
  const { faults, ...figures } = await raceForOneDirectory(20, 10)
  process.stdout.write(`races: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.takeovers).toBe(10)
})
