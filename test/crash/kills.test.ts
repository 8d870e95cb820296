// Kills of the daemon under load: nothing acknowledged is lost, nothing is shown twice, order is kept.

import { killUnderLoad } from '@agent-relay/prove/scenarios/kills'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'

const kills = sized(3, 200)

test(`${kills} kills under load`, async () => {
  const random = seeded(`${kills} kills under load`)
  const report = await killUnderLoad(random, { cycles: kills }, { relay: installedRelay })
  const { faults, integrity, clientErrors, ...figures } = report
  process.stdout.write(`kills: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(clientErrors).toEqual([])
  expect(integrity).toBe('ok')
  expect(figures.acked).toBeGreaterThan(kills)
})
