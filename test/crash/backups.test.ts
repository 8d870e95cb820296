// Backups, restorings, exports and imports that are cut short, and a backup while many write: see scenarios/backups.ts.

import { expect, test } from 'vitest'
import { isFull, sized } from '../size.ts'
import { backUpUnderLoad, killWhileWorking } from './scenarios/backups.ts'

const [kills, messages] = sized([1, 500], [50, 10_000])

test(`killed at ${kills} moments of each: whole before or whole after`, async () => {
  const reports = await killWhileWorking(kills, messages)
  process.stdout.write(`backups: ${JSON.stringify(reports)}\n`)
  for (const [cut, { faults, cutOff }] of Object.entries(reports)) {
    expect([cut, faults]).toEqual([cut, []])
    if (isFull) expect([cut, cutOff]).not.toEqual([cut, 0])
  }
})

test('a backup under load holds all that was acknowledged before it, and nobody waits for it', async () => {
  const report = await backUpUnderLoad(sized(500, 500_000), sized(1, 3))
  process.stdout.write(`backup under load: ${JSON.stringify(report)}\n`)
  expect(report.faults).toEqual([])
  // A copy in the event loop would hold up every answer until it is made. Of the first question nobody knows whether it came before the copy.
  if (isFull) expect(report.answeredMeanwhile).toBeGreaterThan(1)
})
