// Many processes race for one data directory, and again for the leftovers of a killed daemon.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { raceForOneDirectory } from './scenarios/races.ts'

const { racers, rounds } = sized({ racers: 6, rounds: 2 }, { racers: 20, rounds: 10 })

test(`${racers} daemons race for one directory`, async () => {
  const { faults, ...figures } = await raceForOneDirectory(racers, rounds)
  process.stdout.write(`races: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.takeovers).toBe(rounds)
})
