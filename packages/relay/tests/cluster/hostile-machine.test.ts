// An invited machine that keeps no rules, by hand in SQL, against real daemons on a real PostgreSQL: nothing that it writes is done on another
// machine, nobody stops, everybody names it, and it can be removed whatever it holds.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Actor } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { entryBytesMax } from '../../src/cluster/cluster-journal.ts'
import { type Client, withClient } from '../../src/cluster/postgres/connection.ts'
import { inviteMachine, revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { troubleTexts } from '../../src/core/shared-trouble.ts'
import { defaultPolicy } from '../../src/core/workspaces.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'
import type { Machine } from './machine.ts'

const folder = mkdtempSync(join(tmpdir(), 'relay-hostile-'))
const proof = join(folder, 'ran')
let place: LaptopAndBox
let laptop: Machine
let box: Machine
let ada: Actor
let rogue: Client
let boot: number
let causes = 0
/** Connections of the rogue, which end when it is thrown out. */
const held: Client[] = []

async function connected(address: Parameters<typeof withClient>[0]): Promise<Client> {
  const client = await new Promise<Client>(
    (resolve) => void withClient(address, (mine) => new Promise(() => resolve(mine))).catch(() => {}),
  )
  client.on('error', () => {})
  held.push(client)
  return client
}

beforeAll(async () => {
  place = await LaptopAndBox.start()
  ;({ laptop, box } = place)
  rogue = await connected(await place.world.join('rogue'))
  boot = (await rogue.query("SELECT boot FROM relay.hello_1('x')")).rows[0].boot
})
afterAll(async () => {
  for (const client of held) await client.end().catch(() => {})
  await place?.close()
  rmSync(folder, { recursive: true, force: true })
})

const storeOf = (machine: Machine) => place.storeOf(machine)

/** Every key that the facts below change. */
const writes = [
  'p',
  'o',
  'w',
  'w:ada',
  'r',
  'r:run_1',
  'q',
  'c:#general',
  'c:@ada,agent-relay',
  'a:bob',
  'a',
  'e:#mine',
  '#',
]

/** One entry with this text, at the end of the journal. */
async function append(entry: string, by = 'agent-relay', more: object = {}): Promise<void> {
  const { id } = (await laptop.open(workspace)).workspace
  const drafts = JSON.stringify([{ at: Date.now(), by, cause: `rogue ${++causes}`, writes, ...more }])
  const values = [id, boot, 0, '', '[]', '[]', drafts, JSON.stringify([entry]), '[]']
  const { rows } = await rogue.query('SELECT * FROM relay.append_2($1,$2,$3,$4,$5,$6,$7,$8,$9)', values)
  expect(rows[0].kind).toBe('ok')
}

const entry = (...facts: object[]) => JSON.stringify({ rule: 'x', outcome: {}, facts })

const command = ['/bin/sh', '-c', `touch ${proof}`]
const wished = {
  type: 'worker.wished',
  id: 'wk_1',
  worker: 'ada',
  parent: 'ada',
  cli: 'sh',
  command,
  cwd: '/',
  isInjected: false,
}
const hostile = {
  'a program on the laptop': entry({ ...wished, machine: 'laptop' }),
  'a run on the laptop': entry({
    type: 'run.started',
    id: 'run_1',
    agent: 'ada',
    parent: 'ada',
    harness: 'loop',
    machine: 'laptop',
  }),
  'a yes to what box asks': entry({
    type: 'approval.closed',
    id: 'ap-1',
    agent: 'bob',
    how: 'answered',
    kind: 'allow',
    choice: 'yes',
  }),
  'another key': entry({ type: 'workspace.key-issued', hash: 'mine' }),
  'another policy': entry({ type: 'workspace.policy-set', policy: { ...defaultPolicy, spawn: 'none' } }),
  'another owner': entry({ type: 'workspace.owned', machine: 'rogue' }),
  'the words of ada': entry({
    type: 'message.created',
    id: 'm_1',
    conversation: '#general',
    n: 1,
    from: 'ada',
    kind: 'free',
  }),
  'the words of the relay': entry({
    type: 'message.created',
    id: 'm_2',
    conversation: '@ada,agent-relay',
    n: 1,
    from: 'agent-relay',
    kind: 'free',
  }),
  'the home of bob': entry({ type: 'agent.homed', agent: 'bob', machine: 'rogue', epoch: 2 }),
  'JSON that is too deep': `{"rule":"x","outcome":{},"facts":[],"more":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  'no JSON': 'not JSON',
  'JSON that is no entry': '[1]',
  'facts without a type': entry({ kind: 'x' }),
  'an unknown fact': entry({ type: 'moon.landed' }),
  'a known fact without its fields': entry({ type: 'message.created' }),
}

test('what it may not write is done nowhere and stops nobody, also after a restart, and it is named', async () => {
  ada = await place.enter(laptop, 'ada')
  const bob = await place.enter(box, 'bob')
  const choices = [{ id: 'yes', label: 'Yes', kind: 'allow' as const }]
  const asked = bob.call('approval.ask', { key: 'k', vendor: 'claude', tool: 'Bash', input: 'rm -rf ~', choices })
  asked.catch(() => {})
  await until(async () => (await storeOf(box)).view.approvals.of('bob').length === 1)
  const key = (await storeOf(laptop)).meta('key')
  for (const text of Object.values(hostile)) await append(text)
  const count = Object.keys(hostile).length
  for (const machine of [laptop, box])
    await until(async () => (await storeOf(machine)).journal.voidEntries(99).length === count)
  const { view } = await storeOf(laptop)
  expect([view.owner(), view.policy(), view.workers.running()]).toEqual(['laptop', defaultPolicy, []])
  expect((await storeOf(laptop)).meta('key')).toBe(key)
  expect((await storeOf(box)).view.approvals.of('bob').length).toBe(1)
  const { workspaces } = await laptop.control('workspace.list', {})
  const last = { machine: 'rogue', why: 'id of its message.created is malformed' }
  const listed = workspaces.find(({ name }) => name === workspace)
  expect(listed?.voids?.[0]).toMatchObject(last)
  expect(listed && troubleTexts(listed)[0]).toMatch(
    /^In team, entry \d+ of machine rogue is ignored: id of its message.created is malformed\.$/,
  )
  await ada.leaves()
  await laptop.stop()
  await laptop.start()
  await laptop.open(workspace)
  ada = await place.enter(laptop, 'ada')
  await ada.send('bob', 'on we go')
  await until(async () => (await bob.call('inbox.peek', {})).messages.length === 1)
  await bob.takes('on we go')
  expect((await storeOf(laptop)).journal.voidEntries(99).length).toBe(count)
  expect(existsSync(proof)).toBe(false)
})

test('what it hides from the database, and what is too long to read, counts for nothing', async () => {
  const mine = entry({ type: 'channel.created', channel: '#mine' })
  const before = (await storeOf(box)).journal.voidEntries(99).length
  await append(mine, 'agent-relay', { writes: [] })
  await append(mine, 'agent-relay', { writes: 'note' })
  await append(mine, 'agent-relay', { writes: 7 })
  await append(mine, 'agent-relay', { writes: undefined })
  // As a database may hold it that was made before lengths were checked.
  await place.world.asAdmin((client) => client.query('ALTER TABLE relay.journal DROP CONSTRAINT journal_entry_bytes'))
  await append(JSON.stringify({ rule: 'x', outcome: {}, facts: [], body: 'x'.repeat(entryBytesMax) }))
  for (const machine of [laptop, box])
    await until(async () => (await storeOf(machine)).journal.voidEntries(99).length === before + 5)
  const voids = (await storeOf(box)).journal.voidEntries(5)
  expect(voids.map(({ why }) => why)).toEqual([
    'its text is malformed or too long',
    ...Array.from({ length: 4 }, () => 'its list of conflict keys is incomplete'),
  ])
  expect((await storeOf(box)).view.lastNumber('#mine')).toBeUndefined()
})

test('it is thrown out whatever it holds open, and its agents are free', async () => {
  await rogue.query('BEGIN')
  await rogue.query("SELECT relay.hello_1('x')")
  await rogue.query('SELECT FROM relay.turn_1($1, $2, 0, $3)', [
    (await laptop.open(workspace)).workspace.id,
    boot + 1,
    '',
  ])
  await rogue.query("ALTER ROLE CURRENT_USER PASSWORD 'x'")
  expect(await place.world.asAdmin((client) => revokeMachine(client, 'rogue'))).toEqual({ kind: 'ok', ended: 1 })
  for (const machine of [laptop, box]) await until(async () => (await storeOf(machine)).view.isRevoked('rogue'))
  expect((await ada.send('bob', 'still here')).id).toBeDefined()
})

test('an invitation can be withdrawn whatever its role has made', async () => {
  const invited = await place.world.asAdmin((client) => inviteMachine(client, 'guest'))
  const guest = await connected({ ...place.server.address, database: 'relay', ...invited })
  await guest.query('SELECT lo_create(0)')
  expect(await place.world.asAdmin((client) => revokeMachine(client, 'guest'))).toEqual({ kind: 'withdrawn' })
  const { rowCount } = await place.world.asAdmin((client) =>
    client.query('SELECT FROM pg_roles WHERE rolname = $1', [invited.user]),
  )
  expect(rowCount).toBe(0)
})
