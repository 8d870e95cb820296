// Files that are harmed after a kill, and kills that harm nothing: see scenarios/harmed-files.ts.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'
import { harmAfterKills, killWriters } from './scenarios/harmed-files.ts'

const harmed = sized(3, 50)

test(`${harmed} kills with files that are cut, shortened, removed or swapped: nothing acknowledged is gone without a word`, async () => {
  const { faults, ...figures } = await harmAfterKills(seeded(`${harmed} harmed starts`), harmed)
  process.stdout.write(`harmed files: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.told).toBeGreaterThan(sized(0, 12))
})

const harmless = sized(4, 1_000)

test(`${harmless} kills that harm nothing raise no alarm`, async () => {
  const { faults, ...figures } = await killWriters(seeded(`${harmless} killed writers`), harmless)
  process.stdout.write(`killed writers: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.acked).toBeGreaterThan(harmless)
})
