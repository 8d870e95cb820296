// The short form of the races: six processes, three times.

import { expect, test } from 'vitest'
import { raceForOneDirectory } from '../crash/scenarios/races.ts'

test('6 daemons race for one directory', async () => {
  const { faults, ...figures } = await raceForOneDirectory(6, 3)
  process.stdout.write(`races: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.takeovers).toBe(3)
})
