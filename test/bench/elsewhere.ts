// The time from a send on one machine until another machine has taken the message in, at a steady pace, beside the round trip of a bare
// NOTIFY over the same server: one connection says a word, another hears it and says one back.

import { type Client, withClient } from 'agent-relay/dist/cluster/postgres/connection.js'
import { median, quantile } from './figures.ts'
import { type Machines, workspace } from './machines.ts'
import type { PostgresServer } from './postgres.ts'
import { ms as inMs, type Rounds } from './sends.ts'
import { against, type Measure } from './table.ts'

const perSecond = 50
const max = 2.5
/** So many times as many come first: code that has just been loaded is slow. */
const warm = 10

interface Round {
  bare: number[]
  sent: number[]
  taken: number[]
}

export async function measureElsewhere(
  server: PostgresServer,
  machines: Machines,
  { rounds, ms }: Rounds,
): Promise<Measure> {
  const count = Math.round((perSecond * ms) / 1_000)
  await machines.ask(0, { register: { workspace, name: 'Alice' } })
  await machines.ask(1, { register: { workspace, name: 'Bob' } })
  await machines.ask(1, { taken: { workspace, count: 0 } })
  const delivered = async (sends: number): Promise<[number[], number[]]> => [
    await machines.ask(0, { send: { workspace, by: 'Alice', to: 'Bob', count: sends, ms } }),
    await machines.ask(1, { taken: { workspace, count: sends } }),
  ]
  const took: Round[] = []
  await withClient(server.address, (here) =>
    withClient(server.address, async (there) => {
      await here.query('LISTEN bench_back')
      await there.query('LISTEN bench')
      there.on('notification', () => void there.query('NOTIFY bench_back'))
      await delivered(count * warm)
      for (let i = 0; i < rounds; i++) {
        const [bare, [sent, taken]] = [await roundTrips(here, count), await delivered(count)]
        took.push({ bare, sent, taken })
      }
    }),
  )
  const middle = (times: keyof Round, share = 0.5) => median(took.map((round) => quantile(round[times], share)))
  return against('from a send to another machine at 50/s, p50', {
    ...{ value: middle('taken'), floor: middle('bare'), unit: 'ms', max },
    note: `taken in there; p99 ${inMs(middle('taken', 0.99))}; its sender has the answer after ${inMs(middle('sent'))}; the floor is the round trip of a bare NOTIFY at the same pace`,
  })
}

/** At the same pace, so that both find the server as idle. */
async function roundTrips(here: Client, count: number): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < count; i++) {
    const from = performance.now()
    const heard = new Promise((resolve) => here.once('notification', resolve))
    await here.query('NOTIFY bench')
    await heard
    took.push(performance.now() - from)
    await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond - (performance.now() - from)))
  }
  return took
}
