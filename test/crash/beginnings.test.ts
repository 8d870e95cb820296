// Workspaces whose making is cut short, by a kill or a full disk: see scenarios/beginnings.ts.

import { howToMount, smallDiskCommand } from '@agent-relay/prove/scenarios/full-disk'
import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { beginOnFullDisk, killWhileBeginning } from './scenarios/beginnings.ts'

const kills = sized(5, 100)

test(`killed at ${kills} moments of a beginning: nothing is called lost, and making it again works`, async () => {
  const { faults, ...figures } = await killWhileBeginning(kills)
  process.stdout.write(`beginnings: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.cutOff).toBeGreaterThan(0)
})

const how = howToMount()
if ('reason' in how) process.stdout.write(`beginnings on a full disk: skipped, ${how.reason}\n`)

test.skipIf('reason' in how)('on a full disk it is refused, and works once there is space', async () => {
  if ('reason' in how) return
  const { faults, ...figures } = await beginOnFullDisk((dataDir) => smallDiskCommand(how.unshare, 12, dataDir))
  process.stdout.write(`beginnings on a full disk: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.refused).toBeGreaterThan(0)
})
