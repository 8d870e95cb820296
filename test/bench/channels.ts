// The cost of a message to a large channel beside one to a small channel: a row is a row, however many read it. And the cost of suggesting the
// nearest of ten thousand names.

import { RelayClient } from '@agent-relay/sdk'
import { Child } from './child.ts'
import { median } from './figures.ts'
import { type Relay, startRelay } from './relay.ts'
import type { LoadAnswer } from './roles/load.ts'
import type { Rounds } from './sends.ts'
import type { Measure } from './table.ts'

const sizes = { small: 10, big: 10_000 } as const
const limit = 1.5
/** A send takes half a millisecond, and five may pass until a wrong name is answered. */
const unknownLimit = 10
const unknownCalls = 200

export async function measureChannels({ rounds, ms }: Rounds): Promise<Measure[]> {
  const relay = await startRelay()
  await fill(relay)
  const load = new Child('load')
  const send = async (channel: string): Promise<number> => {
    const question = { path: relay.socketPath, name: 'Alice', to: channel, inFlight: 64, ms, bodyBytes: 1024 }
    const { perSecond } = await load.ask<LoadAnswer>(question)
    return 1e6 / perSecond
  }
  await send('#small')
  await send('#big')
  const costs: { small: number; big: number }[] = []
  for (let i = 0; i < rounds; i++) {
    const first = i % 2 === 0 ? await send('#small') : undefined
    const big = await send('#big')
    costs.push({ small: first ?? (await send('#small')), big })
  }
  const unknown = await unknownName(relay)
  const lagMs = await relay.lagMs()
  await Promise.all([load.stop(), relay.stop()])
  const ratio = median(costs.map(({ small, big }) => big / small))
  return [
    {
      measure: 'one message to a channel of 10,000',
      value: `${median(costs.map(({ big }) => big)).toFixed(1)} us`,
      floor: `${median(costs.map(({ small }) => small)).toFixed(1)} us`,
      ratio,
      limit: `<= ${limit.toFixed(2)}`,
      isMet: ratio <= limit,
      lagMs,
      note: 'the floor is one to a channel of 10; 64 in flight, each member offline',
    },
    { ...unknown, lagMs },
  ]
}

/** The key's holder may register anyone: one after the other on one session, many in flight. */
async function fill({ socketPath, key }: Relay): Promise<void> {
  const owner = new RelayClient({ socketPath, key, autoConnect: false })
  await owner.connect()
  for (let n = 0; n < sizes.big; n += 500) {
    const names = Array.from({ length: Math.min(500, sizes.big - n) }, (_, i) => n + i)
    await Promise.all(
      names.map((i) => {
        const channels = i < sizes.small ? ['#small', '#big'] : ['#big']
        return owner.call('agent.register', { name: `member${i}`, channels })
      }),
    )
  }
  await owner.disconnect()
}

async function unknownName({ socketPath }: Relay): Promise<Omit<Measure, 'lagMs'>> {
  const client = new RelayClient({ socketPath, agentName: 'Bob', autoConnect: false })
  await client.connect()
  const timed = async (to: string) => {
    const from = performance.now()
    await client.send(to, 'hello').catch(() => {})
    return performance.now() - from
  }
  const [wrong, right]: [number[], number[]] = [[], []]
  for (let n = 0; n < unknownCalls; n++) {
    right.push(await timed(`member${n}`))
    wrong.push(await timed(`membre${n}`))
  }
  await client.disconnect()
  const ratio = median(wrong) / median(right)
  return {
    measure: 'a wrong name among 10,000, answered with the nearest',
    value: `${median(wrong).toFixed(2)} ms`,
    floor: `${median(right).toFixed(2)} ms`,
    ratio,
    limit: `<= ${unknownLimit}`,
    isMet: ratio <= unknownLimit,
    note: 'the floor is one send',
  }
}
