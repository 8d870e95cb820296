// Thousands of events over a WebSocket that is cut, without a goodbye, at every hundredth: each comes once and in order.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { sized } from '../../../test/size.ts'
import { Daemon } from '../../relay/src/daemon/daemon.ts'
import { connectRelay, type RelayEvent } from '../src/index.ts'
import { socketPathOf } from '../src/internal/discover.ts'
import { type WebSocketLike, websocketConnector } from '../src/wire.ts'

const eventsCount = sized(2_000, 10_000)
const cutEvery = 100
const dir = mkdtempSync(join(tmpdir(), 'relay-cuts-'))
let daemon: Daemon
let key: string
beforeAll(async () => {
  const options = { dataDir: dir, credentialsPath: join(dir, 'credentials.json'), isMemory: true, http: { port: 0 } }
  daemon = (await Daemon.start({ ...options, onTrouble: () => {}, onStop: () => {} })) as Daemon
  key = (await daemon.open('home')).key as string
})
afterAll(async () => {
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
})

it(`follows ${eventsCount} events with the connection cut every ${cutEvery}: no gap, no repeat`, async () => {
  const socketPath = socketPathOf(dir, 'home')
  const writer = await connectRelay({ name: 'Writer', key, socketPath })
  let current: WebSocket | undefined
  const open = (url: string) => {
    current = new WebSocket(url)
    return current as unknown as WebSocketLike
  }
  const connect = websocketConnector(daemon.url as string, { open })
  const relay = await connectRelay({ key, connect, limits: { backoffMsMin: 1, backoffMsMax: 5 } })
  const writing = writeAll(writer.client)
  const seen: RelayEvent[] = []
  let cuts = 0
  for await (const event of relay.events.follow({ since: 0 })) {
    seen.push(event)
    if (seen.length === eventsCount) break
    if (seen.length % cutEvery !== 0) continue
    cuts++
    current?.terminate()
  }
  await writing
  expect(cuts).toBe(eventsCount / cutEvery - 1)
  const truth: RelayEvent[] = []
  for (let since = 0; truth.length < eventsCount; ) {
    const page = await writer.client.call('event.list', { since, limit: 1_000 })
    truth.push(...page.events)
    since = page.next
  }
  expect(seen.map(nameOf)).toEqual(truth.slice(0, eventsCount).map(nameOf))
  await relay.close()
  await writer.close()
})

type Writer = Awaited<ReturnType<typeof connectRelay>>['client']

/** Some entries hold one fact, some several, so that cuts fall between entries and inside them. */
async function writeAll(client: Writer): Promise<void> {
  for (let i = 0; i < eventsCount / 4; i += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const n = i + at
        await client.call('channel.create', { channel: `c${n}` })
        await client.send(`#c${n}`, `first ${n}`)
        await client.send('#general', `second ${n}`)
      }),
    )
  }
}

function nameOf({ seq, type, fact, message }: RelayEvent): string {
  return `${seq} ${type} ${message?.body ?? JSON.stringify(fact)}`
}
