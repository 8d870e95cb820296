// The time of a message from one program's `send` to another program's 'message' event, both over the SDK, at a steady pace.

import { Child } from './child.ts'
import { median, quantile } from './figures.ts'
import { startRelay } from './relay.ts'
import { ms, type Rounds } from './sends.ts'
import type { Measure } from './table.ts'

const perSecond = 200
const limitMs = 20

export async function measureDelivery(rounds: Rounds): Promise<Measure[]> {
  const relay = await startRelay()
  const [sender, receiver] = [new Child('member'), new Child('member')]
  await sender.ask({ connect: { socketPath: relay.socketPath, name: 'Alice' } })
  await receiver.ask({ connect: { socketPath: relay.socketPath, name: 'Bob' } })
  const count = Math.round((perSecond * rounds.ms) / 1000)
  const round = async (): Promise<number[]> => {
    await sender.ask({ send: { to: 'Bob', count, ms: rounds.ms } })
    return await receiver.ask<number[]>({ received: { count } })
  }
  await round()
  const all: number[][] = []
  for (let i = 0; i < rounds.rounds; i++) all.push(await round())
  const lagMs = await relay.lagMs()
  await Promise.all([sender.stop(), receiver.stop(), relay.stop()])
  const p99 = median(all.map((took) => quantile(took, 0.99)))
  const p50 = median(all.map((took) => quantile(took, 0.5)))
  return [
    {
      measure: 'send to delivery at 200/s, p99',
      value: ms(p99),
      limit: `< ${limitMs} ms`,
      isMet: p99 < limitMs,
      lagMs,
      note: `p50 ${ms(p50)}, worst ${ms(Math.max(...all.flat()))} of ${count * rounds.rounds}`,
    },
  ]
}
