// Thousands of events over a WebSocket that is cut, without a goodbye, at every hundredth: each comes once and in order.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { guardMs } from '../../../test/guard.ts'
import { sized } from '../../../test/size.ts'
import { Daemon } from '../../relay/src/daemon/daemon.ts'
import { connectRelay, type Relay, type RelayEvent } from '../src/index.ts'
import { socketPathOf } from '../src/internal/discover.ts'
import { type WebSocketLike, websocketConnector } from '../src/wire.ts'

const eventsCount = sized(2_000, 10_000)
const cutEvery = 100
let dir: string
let daemon: Daemon
let key: string
let open: Relay[]
beforeEach(async () => {
  open = []
  dir = mkdtempSync(join(tmpdir(), 'relay-cuts-'))
  const options = { dataDir: dir, credentialsPath: join(dir, 'credentials.json'), isMemory: true, http: { port: 0 } }
  daemon = (await Daemon.start({ ...options, onTrouble: () => {}, onStop: () => {} })) as Daemon
  key = (await daemon.open('home')).key as string
})
afterEach(async () => {
  for (const relay of open) await relay.close()
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
})

it(`follows ${eventsCount} events with the connection cut every ${cutEvery}: no gap, no repeat`, async () => {
  const socketPath = socketPathOf(dir, 'home')
  const writer = await connectRelay({ name: 'Writer', key, socketPath })
  open.push(writer)
  let current: WebSocket | undefined
  const openSocket = (url: string) => {
    current = new WebSocket(url)
    return current as unknown as WebSocketLike
  }
  const connect = websocketConnector(daemon.url as string, { open: openSocket })
  const relay = await connectRelay({ key, connect, limits: { backoffMsMin: 1, backoffMsMax: 5, callAwayMs: guardMs } })
  open.push(relay)
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
