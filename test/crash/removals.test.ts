// Files that are taken away under a running daemon: see scenarios/removals.ts.

import { expect, test } from 'vitest'
import { isFull, sized } from '../size.ts'
import { seeded } from './harness/seeded.ts'
import { removals, takeAway } from './scenarios/removals.ts'

const rounds = sized(1, 6)
const random = seeded('removals')

test.each(removals)(
  '%s: what was acknowledged is stored, nothing is acknowledged after, and the reason is said',
  async (removal) => {
    const acked = { before: 0, after: 0 }
    for (let round = 0; round < rounds; round++) {
      const report = await takeAway(removal, isFull ? 100 + random.below(1_500) : 300)
      expect(report).toMatchObject({ faults: [], exitCode: 1 })
      expect(report.reason).toMatch(/is no longer the file that this daemon wrote: relay\.db(-wal)? (was|has) /)
      acked.before += report.ackedBefore
      acked.after += report.ackedAfter
    }
    process.stdout.write(`removals, ${removal}: ${JSON.stringify(acked)}\n`)
    expect(acked.before).toBeGreaterThan(rounds)
  },
)
