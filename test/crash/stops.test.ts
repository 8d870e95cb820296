// A daemon ends in the middle of work, and a thousand sessions begin at once.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { connectAtOnce, stopWithCallsInFlight } from './scenarios/stops.ts'

const rounds = sized(1, 5)
const loads = [
  { inFlight: 1_000, waiting: 0 },
  { inFlight: 1_000, waiting: 100 },
]

test.for(loads)(
  'SIGTERM with $inFlight requests in flight, $waiting of them waiting',
  async ({ inFlight, waiting }) => {
    for (let round = 0; round < rounds; round++) {
      const { faults, ...figures } = await stopWithCallsInFlight(inFlight, waiting)
      process.stdout.write(`stop: ${JSON.stringify(figures)}\n`)
      expect(faults).toEqual([])
      expect(figures).toMatchObject({ exitCode: 0, isSocketGone: true, integrity: 'ok', goodbyes: 10 })
      // The calls that wait are refused neither at once nor at the end of their wait, which is much later.
      for (const code of ['input.invalid', 'wait.timeout']) expect(figures.others).not.toHaveProperty(code)
    }
  },
)

test('1,000 sessions connect at once', async () => {
  for (let round = 0; round < rounds; round++) {
    const report = await connectAtOnce(1_000)
    process.stdout.write(`sessions: ${JSON.stringify(report)}\n`)
    expect(report).toMatchObject({ welcomed: 1_000, exitCode: 0 })
  }
})
