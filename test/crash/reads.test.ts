// A million messages in a thousand conversations: no reader stops the others, and nobody sees more than their own.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { reads } from './scenarios/reads.ts'

/** A read that is over sooner leaves no room for another call. */
const longMs = 1_000
const [messages, conversations, ms] = sized([20_000, 100, 300], [1_000_000, 1_000, 5_000])

test(`reads among ${messages.toLocaleString('en')} messages`, async () => {
  const report = await reads(messages, conversations, ms)
  process.stdout.write(`reads: ${JSON.stringify(report)}\n`)
  // Another session is answered while each of the hard reads goes on. Of its first call nobody knows whether it came before.
  const unheard = Object.entries(report.stalls).filter(
    ([what, { calls }]) => calls < 2 && (report.hard[what]?.ms ?? 0) > longMs,
  )
  expect(unheard.map(([what]) => what)).toEqual([])
  expect(report.hard['little seen, common word']).toMatchObject({ found: sized(2, 10), calls: 1 })
  expect(report.hard['all seen, common word']).toMatchObject({ found: 100, calls: 1 })
  expect(report.hard['holder, from nobody']?.found).toBe(0)
})
