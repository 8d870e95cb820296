// Presence between machines, in a real PostgreSQL: a daemon hears only news, and still knows which agents are there.

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { until } from '../../../../test/until.ts'
import type { ReportedAgent } from '../../src/broker/sharing.ts'
import { type MachinePresence, reportPresence } from '../../src/cluster/postgres/calls.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { Presence, silentMsMax } from '../../src/cluster/presence.ts'
import { emptyWorkspace } from './empty-workspace.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer
let one: PostgresCluster
let two: PostgresCluster
let database: string

beforeAll(async () => {
  server = await PostgresServer.start()
  const world = await server.cluster('relay')
  const addresses = [await world.join('one'), await world.join('two')] as const
  database = addresses[0].database
  one = new PostgresCluster(addresses[0])
  two = new PostgresCluster(addresses[1])
  await emptyWorkspace(one, 'w')
})
afterAll(async () => {
  await one?.close()
  await two?.close()
  server?.end()
})

const says = (cluster: PostgresCluster, agents: string, since = 0) =>
  reportPresence(cluster, since, [{ workspace: 'w', agents }])
const isLate = ({ seenMs }: MachinePresence) => seenMs > silentMsMax
/** As the owner of the database. */
const change = (text: string) => withClient({ ...server.address, database }, (client) => client.query(text))
/** As if so much time had passed for what was said until now: it is told no more for being young. */
const passes = async (seconds: number, ...machines: string[]) => {
  const names = `name IN ('${machines.join("','")}')`
  await change(`UPDATE relay.machines SET joined_at = joined_at - interval '${seconds} s' WHERE ${names}`)
  await change(`UPDATE relay.presence SET stamp = stamp - ${seconds * 1_000_000}, seen_at = seen_at - interval '${seconds} s'
    WHERE machine IN (SELECT id FROM relay.machines WHERE ${names})`)
}

test('what was said before is not told again, nor is the same once more', async () => {
  await says(one, '[1]')
  const first = await says(two, '[]')
  expect(first.reported).toMatchObject([{ workspace: 'w', machine: 'one', agents: '[1]', removed: false }])
  await passes(12, 'one')
  expect((await says(two, '', first.stamp)).reported).toEqual([])
  await says(one, '')
  await says(one, '[1]')
  expect((await says(two, '', first.stamp)).reported).toEqual([])
  await says(one, '[2]')
  expect((await says(two, '', first.stamp)).reported).toMatchObject([{ machine: 'one', agents: '[2]' }])
})

test('who is late is told of, and who comes back is news although nothing has changed', async () => {
  await says(one, '[1]')
  const { stamp } = await says(two, '')
  await passes(20, 'one')
  const late = await says(two, '', stamp)
  expect(late.reported).toMatchObject([{ machine: 'one', agents: '' }])
  expect(late.reported.map(isLate)).toEqual([true])
  await says(one, '')
  const back = await says(two, '', late.stamp)
  expect(back.reported).toMatchObject([{ machine: 'one', agents: '[1]' }])
  expect(back.reported.map(isLate)).toEqual([false])
})

const agent = (name: string): ReportedAgent => ({ name, status: 'idle', lastCallAt: 1 })

/** A daemon whose time is moved by hand. */
function daemon(cluster: PostgresCluster, ...names: string[]) {
  const clock = new PlayClock()
  let beats = 0
  const presence = new Presence(cluster, clock, { onBeat: () => void beats++, onRemoved: () => {} })
  onTestFinished(() => presence.stop())
  const otherMachines = presence.enter('w')
  otherMachines.report(() => names.map(agent))
  /** Until it has said and heard everything once more. */
  const beat = async (ms = 1_000) => {
    const before = beats
    await clock.passes(ms)
    await until(() => beats > before)
  }
  return { names, otherMachines, presence, beat, clock }
}

/** The database hints at news, so that a daemon may have more to say and hear than one beat. */
const soon = (daemon: { beat(): Promise<void> }, isSo: () => boolean) =>
  until(async () => {
    await daemon.beat()
    return isSo()
  })

test('a daemon knows who is there from what is new alone, over long times and pauses', async () => {
  const [a, b] = [daemon(one, 'Ann'), daemon(two, 'Bob')]
  const sees = (name: string) => a.otherMachines.connectedAgent(name)?.machine === 'two'
  await b.beat()
  await soon(a, () => sees('Bob'))
  for (let n = 0; n < 30; n++) await a.beat()
  expect(sees('Bob')).toBe(true)
  // Its process was stopped for a minute.
  await b.beat()
  await a.beat(60_000)
  await soon(a, () => sees('Bob'))
  b.names.push('Eve')
  await b.beat()
  await soon(a, () => sees('Eve'))
  await passes(20, 'two')
  await soon(a, () => !a.otherMachines.isReached('two') && !sees('Eve'))
  for (let n = 0; n < 3; n++) await a.beat()
  expect(a.otherMachines.isReached('two')).toBe(false)
  await b.beat()
  await soon(a, () => sees('Eve'))
})

test('a machine that is silent is out of reach since then; one that has closed the workspace is not', async () => {
  const [a, b] = [daemon(one, 'Ann'), daemon(two, 'Bob')]
  const outOfReach = () => a.otherMachines.unreachable('two')
  await b.beat()
  await soon(a, () => a.otherMachines.connectedAgent('Bob') !== undefined)
  expect(outOfReach()).toBeUndefined()
  await passes(20, 'two')
  await soon(a, () => a.otherMachines.connectedAgent('Bob') === undefined)
  expect(outOfReach()).toEqual({ machine: 'two', since: expect.any(Number) })
  expect(outOfReach()?.since).toBeLessThanOrEqual(a.clock.now() - 20_000)
  expect(a.otherMachines.lastSeenAgent('Bob')).toMatchObject({ machine: 'two' })
  await b.beat()
  await soon(a, () => outOfReach() === undefined)
  await b.presence.close()
  await soon(a, () => a.otherMachines.lastSeenAgent('Bob') === undefined)
  await passes(20, 'two')
  await soon(a, () => !a.otherMachines.isReached('two'))
  expect(outOfReach()).toBeUndefined()
  expect(a.otherMachines.unreachable('three')).toEqual({ machine: 'three' })
})

test('a database that has forgotten everybody: who does not come back counts as gone', async () => {
  const [a, b] = [daemon(one, 'Ann'), daemon(two, 'Bob')]
  await b.beat()
  await soon(a, () => a.otherMachines.isReached('two'))
  await change('TRUNCATE relay.presence')
  // A minute at the latest, and then as long as anybody may be late.
  for (let n = 0; n < 60 + 20; n++) await a.beat()
  expect(a.otherMachines.isReached('two')).toBe(false)
  // It says all again every ten beats.
  for (let n = 0; n < 10; n++) await b.beat()
  await soon(a, () => a.otherMachines.isReached('two'))
})

test('no function of ours is compiled, not even for an older daemon', async () => {
  const { rows } = await change(
    "SELECT proname FROM pg_proc WHERE pronamespace = 'relay'::regnamespace AND proconfig IS NOT NULL AND NOT 'jit=off' = ANY (proconfig)",
  )
  expect(rows).toEqual([])
  const jit = await one.asReader((client) => client.query('SHOW jit'))
  expect(jit.rows[0].jit).toBe('off')
})
