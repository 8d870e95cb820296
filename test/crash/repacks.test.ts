// Rewritings of an older file that are killed, and one on a full disk: see scenarios/repacks.ts.

import { howToMount } from '@agent-relay/prove/scenarios/full-disk'
import { expect, test } from 'vitest'
import { isFull, sized } from '../size.ts'
import { killWhileRepacking, repackOnFullDisk } from './scenarios/repacks.ts'

const kills = sized(2, 50)

test(`killed at ${kills} moments: the old file or the new one, whole`, async () => {
  const report = await killWhileRepacking(kills)
  process.stdout.write(`repacks: ${JSON.stringify(report)}\n`)
  expect(report.faults).toEqual([])
  if (isFull) expect(Math.min(report.old, report.fresh)).toBeGreaterThan(0)
})

test('a disk without space for the copy keeps the old file', async ({ skip }) => {
  const how = howToMount()
  if ('reason' in how) return skip(how.reason)
  const { said, faults } = await repackOnFullDisk(how.unshare)
  expect(faults).toEqual([])
  expect(said).toMatch(/full/)
})
