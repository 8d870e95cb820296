// Fifty unread messages among a million, and newcomers who see none of them, from inside the daemon: the socket's part is measured
// elsewhere.

import { Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import type { MillionAnswer, ReadsAnswer } from './roles/million.ts'
import { ms } from './sends.ts'
import type { Measure } from './table.ts'

const limitMs = 1
const [newcomersMs, stallMs] = [50, 30]

export async function measureUnread(messages: number, rounds: number): Promise<Measure[]> {
  const child = new Child('million')
  const from = performance.now()
  await child.ask({ build: { dataDir: temporaryFolder(), messages } })
  const seconds = Math.round((performance.now() - from) / 1000)
  const all: MillionAnswer[] = []
  for (let i = 0; i < rounds; i++) all.push(await child.ask<MillionAnswer>({ measure: { calls: 100 } }))
  const reads = await child.ask<ReadsAnswer>({ reads: { calls: 100 } })
  await child.stop()
  const lagMs = median(all.map((each) => each.lagMs))
  const measureOf = (what: string) => `50 unread of ${messages.toLocaleString('en')}, ${what}, p50`
  const found = (what: string, value: number): Measure => {
    return { measure: measureOf(what), value: ms(value), limit: `< ${limitMs} ms`, isMet: value < limitMs, lagMs }
  }
  const p50 = (which: keyof MillionAnswer) => median(all.map((each) => each[which]))
  return [
    { ...found('one conversation', p50('peekOne')), note: `built in ${seconds} s` },
    found('50 conversations', p50('peekSpread')),
    // Handing out is a command: fifty offers are written and synced, which depends on the disk.
    { measure: measureOf('taken from one'), value: ms(p50('takeOne')), lagMs },
    { measure: measureOf('taken from 50'), value: ms(p50('takeSpread')), lagMs },
    ...Object.entries(reads.p99).map(([what, value]): Measure => {
      const measure = `${what} by 10 newcomers at once, 1,000 conversations, p99`
      return { measure, value: ms(value), limit: `< ${newcomersMs} ms`, isMet: value < newcomersMs, lagMs }
    }),
    {
      ...{ measure: "another session's longest call meanwhile", value: ms(reads.longest), lagMs },
      ...{ limit: `< ${stallMs} ms`, isMet: reads.longest < stallMs, note: `without them ${ms(reads.calm)}` },
    },
  ]
}
