// Prunings that are killed, and one of a workspace that is in use: see scenarios/prunes.ts.

import { expect, test } from 'vitest'
import { isFull, sized } from '../size.ts'
import { killWhilePruning, pruneUnderLoad } from './scenarios/prunes.ts'

const [kills, messages] = sized([3, 200], [50, 600])

test(`killed at ${kills} moments: each event is in the database or in the archive, and only once`, async () => {
  const report = await killWhilePruning(kills, messages)
  process.stdout.write(`prunes: ${JSON.stringify(report)}\n`)
  expect(report.faults).toEqual([])
  if (isFull) expect(report.inTheMidst).toBeGreaterThan(0)
})

test('while it prunes the daemon goes on serving', async () => {
  const report = await pruneUnderLoad(sized(300, 3_000), sized(1, 3))
  process.stdout.write(`prune under load: ${JSON.stringify(report)}\n`)
  expect(report.events).toBeGreaterThanOrEqual(sized(300, 3_000) * 3)
  // Of the first question nobody knows whether it came before the pruning.
  if (isFull) expect(Math.min(...report.rounds.map(({ answers }) => answers))).toBeGreaterThan(1)
})
