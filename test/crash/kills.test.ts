// Kills of the daemon under load: nothing acknowledged is lost, nothing is shown twice, order is kept.

import { expect, test } from 'vitest'
import { killUnderLoad } from '../../packages/relay/src/prove/scenarios/kills.ts'
import { sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'

const kills = sized(5, 200)

test(`${kills} kills under load`, async () => {
  const { faults, integrity, clientErrors, ...figures } = await killUnderLoad(seeded(`${kills} kills under load`), {
    cycles: kills,
  })
  process.stdout.write(`kills: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(clientErrors).toEqual([])
  expect(integrity).toBe('ok')
  expect(figures.acked).toBeGreaterThan(kills)
})
