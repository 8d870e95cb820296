// The fate of acknowledged messages when the database or a machine of a shared workspace breaks. The short size kills the server alone.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PostgresCluster } from '../../packages/relay/src/cluster/postgres/postgres-cluster.ts'
import { PostgresServer, type PostgresWorld } from '../../packages/relay/tests/cluster/postgres-server.ts'
import { isFull, sized } from '../size.ts'
import { aWhile, until } from '../until.ts'
import { Way } from './harness/way.ts'
import { type Report, Team } from './scenarios/cluster.ts'

const [few, many] = [sized(20, 300), sized(60, 3_000)]
/** How long a machine is away: longer than a connection waits for an answer. */
const [asleepMs, cutMs, lossyMs] = [30_000, 7_000, 200]
const machines = sized(['one', 'two'], ['one', 'two', 'three'])

/** The database is set not to wait for its disk, and to be slow about it: a daemon's own session must. */
const careless = { synchronous_commit: 'off', wal_writer_delay: "'10s'" }

let server: PostgresServer
let databases = 0
const open: { end(): unknown }[] = []

beforeAll(async () => {
  server = await PostgresServer.start(undefined, careless)
})
afterAll(() => server?.end())
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.end()
})

async function gather(hostOf?: (name: string) => string): Promise<{ world: PostgresWorld; team: Team }> {
  const world = await server.cluster(`team_${++databases}`)
  const team = await Team.gather(world, machines, hostOf)
  open.push(team)
  team.load()
  await team.more(few)
  return { world, team }
}

function way(): Way {
  const proxy = new Way(server.folder)
  open.push(proxy)
  return proxy
}

function expectWhole(name: string, report: Report): void {
  process.stdout.write(`cluster, ${name}: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ lost: 0, misnumbered: 0, differing: [], refused: [], troubles: [] })
  expect(Object.values(report.stopped).flat()).toEqual([])
}

test('the server is killed: nothing that was acknowledged is lost or stored twice', async () => {
  const { world, team } = await gather()
  for (let times = sized(1, 5); times > 0; times--) {
    server.kill()
    await server.resume()
    await team.more(few)
  }
  await team.more(many - few)
  expectWhole('server killed', await team.audit(world))
})

test('a way that was cut holds up nobody who leaves', async () => {
  const cut = way()
  const world = await server.cluster(`team_${++databases}`)
  const daemon = new PostgresCluster({ ...(await world.join('one')), host: cut.folder })
  expect(await daemon.machine()).toBe('one')
  cut.loses = 'all'
  await daemon.close()
  await expect(daemon.machine()).rejects.toThrow('closed')
})

describe.runIf(isFull)('in full', () => {
  test('a daemon is killed, and comes back on its replica', async () => {
    const { world, team } = await gather()
    for (let times = 0; times < 5; times++) {
      await team.members[1]?.restart()
      await team.more(few)
    }
    await team.more(many)
    expectWhole('daemon killed', await team.audit(world))
  })

  test('a daemon sleeps for half a minute', async () => {
    const { world, team } = await gather()
    const [, sleeper, ...others] = team.members
    sleeper?.signal('SIGSTOP')
    await sleep(asleepMs)
    await team.more(few, others)
    sleeper?.signal('SIGCONT')
    await team.more(many)
    expectWhole('daemon asleep', await team.audit(world))
  })

  test('a daemon stops while it holds the lock: the others go on without it', async () => {
    const { world, team } = await gather()
    const [, sleeper, ...rest] = team.members
    const others = [team.members[0] as (typeof rest)[number], ...rest]
    const before = others.map(({ stored }) => stored.length)
    sleeper?.tell('stop-in-turn')
    await until(() => sleeper?.isStopped)
    await team.more(few, others)
    sleeper?.signal('SIGCONT')
    await team.more(many)
    const waited = others.map(({ stored }, i) => Math.max(...stored.slice(before[i]).map(([, , , ms]) => ms)))
    process.stdout.write(`cluster: the others waited ${waited.join(' and ')} ms\n`)
    expectWhole('stopped in the lock', await team.audit(world))
  })

  test('the network of one machine is cut, without a word', async () => {
    const cut = way()
    const { world, team } = await gather((name) => (name === 'two' ? cut.folder : server.folder))
    const [one, , three] = team.members
    for (let times = 0; times < 3; times++) {
      cut.loses = 'all'
      await sleep(cutMs)
      await team.more(few, [one, three] as typeof team.members)
      cut.loses = 'nothing'
      await team.more(few)
    }
    await team.more(many)
    expectWhole('network cut', await team.audit(world))
  })

  test('answers are lost after the commit', async () => {
    const lossy = way()
    const { world, team } = await gather((name) => (name === 'two' ? lossy.folder : server.folder))
    for (let times = 0; times < 20; times++) {
      lossy.loses = 'answers'
      await sleep(lossyMs)
      lossy.hangUp()
      lossy.loses = 'nothing'
      await team.more(few / 10)
    }
    await team.more(many)
    expectWhole('answers lost', await team.audit(world))
  })

  test('a standby takes over that had all: nothing is lost', async () => {
    const { team, world } = await failOver({ isSynchronous: true })
    await team.more(many)
    expectWhole('synchronous standby', await team.audit(world))
  })

  test('a standby takes over that lagged: every machine says so, and sends no more', async () => {
    const { team } = await failOver({ isSynchronous: false })
    const { members } = team
    await until(() => members.every(({ stopped }) => stopped.length > 0))
    for (const member of members) expect(member.stopped).toContain('diverged')
  })

  async function failOver({ isSynchronous }: { isSynchronous: boolean }) {
    const primary = await PostgresServer.start(undefined, { wal_level: 'replica' })
    open.push(primary)
    const proxy = new Way(primary.folder)
    open.push(proxy)
    const standby = await primary.standby(isSynchronous)
    open.push(standby)
    const world = await primary.cluster('team')
    const team = await Team.gather(world, machines, () => proxy.folder)
    open.push(team)
    team.load()
    await team.more(few)
    standby.lag()
    // One that must have all holds up the others, so nothing more is acknowledged.
    await (isSynchronous ? aWhile(1_500) : team.more(few))
    primary.kill()
    await standby.promote()
    proxy.target = standby.folder
    proxy.hangUp()
    return { team, world: world.at(standby) }
  }
})
