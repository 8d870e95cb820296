// Followers in a rush: a program gets every event in order, a person the newest and a count of the rest, and nobody who does not read stops the relay.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventOf, RelayClient, type RelayEvent } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { spawn as spawnPty } from '@lydell/node-pty'
import { afterEach, expect, it } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { inProcessConnector } from '../in-process-connector.ts'
import { HttpWorld } from '../wires/http-world.ts'
import { launcher } from './cli-world.ts'

const types = ['message.created'] as const
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

async function world() {
  const relay = await HttpWorld.start()
  undo.push(() => relay.stop())
  const { dispatch } = await relay.daemon.open('home')
  const connect = inProcessConnector(dispatch)
  const client = async (options: object) => {
    const made = new RelayClient({ connect, autoConnect: false, ...options })
    await made.connect()
    undo.push(() => made.disconnect())
    return made
  }
  const [ada, bob] = [await client({ agentName: 'ada' }), await client({ agentName: 'bob' })]
  const rush = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => ada.send('bob', String(i), { id: `c_rush${i}` })))
  return { ada, bob, key: relay.key, client, rush }
}

it('shows a person the newest and counts the others', async () => {
  const { key, client, rush } = await world()
  const holder = await client({ key })
  const seen: RelayEvent[] = []
  await holder.watch({ types, newest: 5 }, (event) => seen.push(event)).ready
  await rush(1_000)
  await until(() => seen.at(-1)?.message?.body === '999')
  const bodies = seen.flatMap(({ message }) => (message ? [Number(message.body)] : []))
  const counted = seen.flatMap(({ type, fact }) => (type === 'events.skipped' ? [fact.count] : []))
  expect(bodies.length + counted.reduce((sum, count) => sum + count, 0)).toBe(1_000)
  expect(bodies.length).toBeLessThan(500)
  expect(bodies).toEqual([...bodies].sort((a, b) => a - b))
  // What was left out begins right after `since`.
  const first = seen.find(({ type }) => type === 'events.skipped') as EventOf<'events.skipped'>
  const { events } = await holder.call('event.list', { since: first.fact.since, types: [...types], limit: 1 })
  const before = seen[seen.indexOf(first) - 1]
  expect(events[0]?.message?.body).toBe(String(before ? Number(before.message?.body) + 1 : 0))
})

it('tells a person who comes back how much happened meanwhile', async () => {
  const { key, client, rush } = await world()
  const holder = await client({ key })
  const { seq } = await holder.connect()
  await rush(30)
  const seen: RelayEvent[] = []
  holder.watch({ since: seq, types, newest: 5 }, (event) => seen.push(event))
  await until(() => seen.at(-1)?.message?.body === '29')
  expect(seen).toHaveLength(6)
  expect(seen[0]).toMatchObject({ type: 'events.skipped', fact: { since: seq } })
})

it('counts nothing for an agent that may not see all events: it gets every event of its own', async () => {
  const { bob, rush } = await world()
  const seen: RelayEvent[] = []
  await bob.watch({ types, newest: 5 }, (event) => seen.push(event)).ready
  await rush(300)
  await until(() => seen.length >= 300)
  expect(seen.map(({ message }) => message?.body)).toEqual(Array.from({ length: 300 }, (_, i) => String(i)))
})

it('gives a program every event of a rush, in order', async () => {
  const { key, client, rush } = await world()
  const holder = await client({ key })
  const seen: string[] = []
  await holder.watch({ types }, ({ message }) => seen.push(message?.body ?? '')).ready
  await rush(3_000)
  await until(() => seen.length >= 3_000)
  expect(seen).toEqual(Array.from({ length: 3_000 }, (_, i) => String(i)))
})

it('a terminal that nobody reads stops neither the relay nor its end', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'relay-feed-'))
  undo.push(() => rmSync(dir, { recursive: true, force: true }))
  const env = { ...process.env, HOME: dir, RELAY_DATA_DIR: dir, RELAY_PORT: '0', RELAY_PROJECT: 'home' }
  const terminal = spawnPty(process.execPath, [launcher, 'up'], { cwd: dir, env })
  // As after Ctrl-S.
  terminal.pause()
  const ended = new Promise((resolve) => terminal.onExit(resolve))
  undo.push(() => isAlive(terminal.pid) && terminal.kill('SIGKILL'))
  const connect = socketConnector(socketPathOf(dir, 'home'))
  const isUp = () =>
    connect({}).then(
      (link) => link.close().then(() => true),
      () => false,
    )
  await until(isUp)
  const client = new RelayClient({ connect, agentName: 'ada', autoConnect: false })
  await client.connect()
  undo.push(() => client.disconnect())
  // A terminal takes a few kilobytes; each line of the feed has a hundred bytes.
  for (let round = 0; round < 15; round++) {
    await Promise.all(Array.from({ length: 100 }, () => client.send('#general', 'x'.repeat(200))))
    await aWhile(100)
  }
  terminal.kill('SIGTERM')
  await ended
})
