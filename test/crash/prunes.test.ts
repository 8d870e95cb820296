// Prunings that are killed, and one of a workspace that is in use: see scenarios/prunes.ts.

import { expect, test } from 'vitest'
import { isFull, sized } from '../size.ts'
import { killWhilePruning, pruneUnderLoad } from './scenarios/prunes.ts'

const [kills, messages] = sized([3, 600], [50, 600])

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
  // What counts is what the pruning adds. A stall of its own comes in each round, one of others on this machine does not.
  const added = report.rounds.map(({ duringMs, withoutMs }) => duringMs - withoutMs)
  if (isFull) expect(Math.min(...added)).toBeLessThan(50)
})
