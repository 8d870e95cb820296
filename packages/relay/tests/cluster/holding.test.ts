// A machine that begins a transaction and keeps what the others wait for, in every way that its role has: it is ended, the others go on, and honest
// machines stay. The administrator is no superuser; the full size runs on both the oldest and the newest PostgreSQL.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { until } from '../../../../test/until.ts'
import { type Append, journalStart } from '../../src/cluster/cluster-journal.ts'
import { type Client, type ServerAddress, withClient } from '../../src/cluster/postgres/connection.ts'
import { giveWorkspace, inviteMachine, revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { beginMoveIn } from '../../src/cluster/postgres/moving.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { emptyWorkspace } from './empty-workspace.ts'
import { PostgresServer, type PostgresWorld, versions } from './postgres-server.ts'

const workspace = 'w_team'
const turn = `SELECT count(*) FROM relay.turn_2('${workspace}', 0, 0, '')`
/** Ways to keep the lock. */
const ways: Record<string, string[]> = {
  'a transaction that falls silent': ['BEGIN', turn],
  'a statement that does not end': [`SELECT (${turn}), pg_sleep(60)`],
  'a statement that keeps the server busy': [`SELECT (${turn}), (SELECT count(*) FROM generate_series(1, 1000000000))`],
  'a part of a transaction': ['BEGIN', 'SAVEPOINT a', turn, 'RELEASE a'],
  'two parts of a transaction': ['BEGIN', 'SAVEPOINT a', turn, 'SAVEPOINT b', turn],
}

describe.each(versions)('PostgreSQL %s', (_, programs) => {
  let server: PostgresServer
  let world: PostgresWorld
  let rogue: ServerAddress
  const daemons: PostgresCluster[] = []
  const held = new Set<Client>()
  let causes = 0

  beforeAll(async () => {
    server = await PostgresServer.start(programs, { max_prepared_transactions: '5' })
    world = await server.clusterOfBoss('relay')
    rogue = await world.join('rogue')
    for (const name of ['one', 'two', 'three']) {
      const daemon = new PostgresCluster(await world.join(name))
      await emptyWorkspace(daemon, workspace, 'team')
      daemons.push(daemon)
    }
  })
  afterAll(async () => {
    await Promise.all(daemons.map((daemon) => daemon.close()))
    await release()
    server?.end()
  })

  function note(): Append {
    const draft = { at: 1, by: 'agent-relay', cause: `c${++causes}`, rule: 'test', outcome: {}, facts: [], writes: [] }
    return { position: journalStart, reads: [], drafts: [draft] }
  }

  async function connected(address: ServerAddress): Promise<Client> {
    const client = await new Promise<Client>((resolve, reject) => {
      withClient(
        address,
        (mine) =>
          new Promise<void>((end) => {
            mine.on('end', end)
            resolve(mine)
          }),
      ).catch(reject)
    })
    client.on('error', () => {})
    held.add(client)
    return client
  }

  const release = async () => {
    for (const client of held) await client.end().catch(() => {})
    held.clear()
  }

  /** Somebody keeps the lock in this way, and has it. */
  async function hold(statements: string[], address = rogue): Promise<Client> {
    const client = await connected(address)
    for (const statement of statements.slice(0, -1)) await client.query(statement)
    client.query(statements.at(-1) as string).catch(() => {})
    const isHeld = `SELECT FROM relay.workspaces WHERE id = '${workspace}' FOR NO KEY UPDATE NOWAIT`
    await until(() =>
      withClient({ ...server.address, database: 'relay' }, (mine) => mine.query(isHeld)).then(
        () => false,
        () => true,
      ),
    )
    return client
  }

  const appends = () => Promise.all(daemons.map((daemon) => daemon.journal(workspace).append(note())))
  test.each(Object.entries(ways))('%s does not stop the appends of others', async (_way, statements) => {
    await hold(statements)
    for (const appended of await appends()) expect(appended).toMatchObject({ kind: 'ok' })
    await release()
  })

  test('a lock of another connection, of which the database knows nothing, does not hide who keeps the row', async () => {
    const [sly, friend] = [await world.join('sly'), await world.join('friend')]
    for (const other of [sly, friend]) {
      const keeper = await connected(other)
      await keeper.query('SELECT pg_advisory_lock(1)')
      const client = await hold(['BEGIN', turn], sly)
      client.query('SELECT pg_advisory_lock(1)').catch(() => {})
      for (const appended of await appends()) expect(appended).toMatchObject({ kind: 'ok' })
      await release()
    }
  })

  test('an answer that nobody reads does not keep the lock', async () => {
    const client = await connected(rogue)
    const { stream } = (client as unknown as { connection: { stream: import('node:net').Socket } }).connection
    client.query(`SELECT (${turn}), repeat('x', 1000000) FROM generate_series(1, 1000)`).catch(() => {})
    stream.pause()
    await until(async () => (await sessions("wait_event = 'ClientWrite'")) === 1)
    for (const appended of await appends()) expect(appended).toMatchObject({ kind: 'ok' })
    stream.destroy()
    held.delete(client)
  })

  test('a machine cannot keep the owner of the functions from ending it', async () => {
    const sly = await world.join('loner')
    await withClient(sly, async (client) => {
      for (const text of [
        `REVOKE "${sly.user}" FROM relay_owner`,
        `REVOKE ADMIN OPTION FOR "${sly.user}" FROM relay_owner`,
      ])
        await client.query(text).catch(() => {})
    })
    await hold(['BEGIN', turn], sly)
    for (const appended of await appends()) expect(appended).toMatchObject({ kind: 'ok' })
    await release()
    expect(await world.asAdmin((client) => revokeMachine(client, 'loner'))).toMatchObject({ kind: 'ok' })
  })

  test('all connections that a machine may have, one behind the other, stop the others no longer than one', async () => {
    await hold(['BEGIN', turn])
    const late = Array.from({ length: 7 }, async () => {
      const client = await connected(rogue)
      await client.query(`SELECT (${turn}), pg_sleep(60)`).catch(() => {})
    })
    await until(async () => (await waiting()) === 7)
    for (const appended of await appends()) expect(appended).toMatchObject({ kind: 'ok' })
    await Promise.all(late)
    await release()
  })

  const sessions = async (which: string) =>
    (await withClient(server.address, (client) => client.query(`SELECT FROM pg_stat_activity WHERE ${which}`))).rowCount
  /** For longer than a machine may be waited for. */
  const waitingLong = async () => {
    const text = "SELECT FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - interval '2.2 seconds'"
    return (await withClient(server.address, (client) => client.query(text))).rowCount ?? 0
  }
  const waiting = () => sessions("wait_event_type = 'Lock'")

  test('neither a name that is being given nor keys that are being forgotten are kept from the others', async () => {
    const [first, second] = daemons as [PostgresCluster, PostgresCluster]
    const client = await connected(rogue)
    const { boot } = (await client.query("SELECT boot FROM relay.hello_1('x')")).rows[0]
    await client.query('BEGIN')
    await client.query("SELECT relay.move_in_1('w_new', 'new', $1)", [boot])
    expect(await beginMoveIn(first, 'w_other', 'new')).toBe('ok')
    await hold(['BEGIN', `SELECT relay.prune_1(${boot}, '${workspace}')`])
    expect(await second.journal(workspace).append(note())).toMatchObject({ kind: 'ok' })
    await release()
  })

  test('an honest turn is not ended, however often somebody asks for it, before or after it has waited itself', async () => {
    const honest = await hold(['BEGIN', turn], await world.join('honest'))
    const other = await connected(await world.join('other'))
    await other.query('BEGIN')
    const waits = other.query(turn)
    const asker = await connected(rogue)
    const asks = async (ms: number) => {
      let ended = 0
      for (const end = performance.now() + ms; performance.now() < end; )
        ended += Number((await asker.query('SELECT relay.free_1() AS ended')).rows[0].ended)
      return ended
    }
    expect(await asks(1_500)).toBe(0)
    await honest.query('COMMIT')
    await waits
    // It has waited for its turn, and so has the next one for it: its own time begins now.
    const next = hold([turn], await world.join('next'))
    expect(await asks(1_500)).toBe(0)
    await other.query('COMMIT')
    await next
    await release()
  })

  test('who waits for a standby or for somebody else is not ended', async () => {
    await server.set({ synchronous_standby_names: "'nobody'" })
    const asker = await connected(rogue)
    const [first, second] = daemons as [PostgresCluster, PostgresCluster]
    const stored = first.journal(workspace).append(note())
    const isWaiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await until(async () => (await withClient(server.address, (client) => client.query(isWaiting))).rowCount === 1)
    const behind = second.journal(workspace).append(note())
    await until(async () => (await waitingLong()) > 0)
    expect((await asker.query('SELECT relay.free_1() AS ended')).rows[0].ended).toBe('0')
    await server.set({ synchronous_standby_names: "''" })
    expect(await Promise.all([stored, behind])).toMatchObject([{ kind: 'ok' }, { kind: 'ok' }])
    await release()
  })

  test('the role of the owner ends nobody else, and a machine that was removed ends nobody', async () => {
    const gone = await connected(await world.join('gone'))
    await world.asAdmin((client) => client.query("UPDATE relay.machines SET revoked_at = now() WHERE name = 'gone'"))
    const boss = await hold(
      ['BEGIN', `SELECT FROM relay.workspaces WHERE id = '${workspace}' FOR UPDATE`],
      world.address,
    )
    const late = hold(['BEGIN', turn])
    await until(async () => (await waitingLong()) > 0)
    const asker = await connected(rogue)
    expect((await asker.query('SELECT relay.free_1() AS ended')).rows[0].ended).toBe('0')
    expect((await gone.query('SELECT relay.free_1() AS ended')).rows[0].ended).toBe(null)
    await boss.query('COMMIT')
    await late
    await release()
  })

  describe('who administers the database', () => {
    const acts: Record<string, (name: string) => Promise<unknown>> = {
      'removes a machine': (name) => world.asAdmin((client) => revokeMachine(client, name)),
      'gives a workspace another owner': () => world.asAdmin((client) => giveWorkspace(client, 'team', 'one')),
      'lets a machine in again': async (name) => {
        await world.asAdmin((client) => revokeMachine(client, name))
        await world.asAdmin((client) => inviteMachine(client, name))
      },
    }
    let names = 0
    test.each(Object.entries(acts))('%s without waiting for its accomplices', async (_act, act) => {
      await act(`rogue`).catch(() => {})
      // All of them clear the way by the same function: in the short size the first act meets every way, the others one each.
      const place = Object.values(acts).indexOf(act)
      const met =
        place === 0 ? Object.values(ways) : sized(Object.values(ways).slice(place, place + 1), Object.values(ways))
      for (const statements of met) {
        const [guest, friend] = [`guest${++names}`, await world.join(`friend${names}`)]
        const own = await world.join(guest)
        await connected(own)
        await hold(statements, friend)
        const line = Array.from({ length: 5 }, async () => {
          const client = await connected(friend)
          await client.query(`SELECT (${turn}), pg_sleep(60)`).catch(() => {})
        })
        await until(async () => (await waiting()) === 5)
        const greeting = await connected(friend)
        await greeting.query('BEGIN')
        await greeting.query("SELECT relay.hello_1('x')")
        // No other machine waits, so that nobody else has whoever is in the way ended.
        await act(guest)
        await release()
        await Promise.all(line)
      }
    })

    test('does not wait for a machine that takes the lock of administrators', async () => {
      const friend = await world.join('porter')
      for (let i = 0; i < 3; i++) (await connected(friend)).query('SELECT pg_advisory_lock(7365111)').catch(() => {})
      await until(async () => (await waiting()) === 2)
      await world.join('ported')
      expect(await world.asAdmin((client) => revokeMachine(client, 'ported'))).toMatchObject({ kind: 'ok' })
      held.clear()
    })

    test('does not wait for what a machine has left behind without a connection', async () => {
      const friend = await connected(await world.join('leaver'))
      for (const statement of ['BEGIN', turn, "PREPARE TRANSACTION 'mine'"]) await friend.query(statement)
      await world.join('leaves')
      expect(await world.asAdmin((client) => revokeMachine(client, 'leaves'))).toMatchObject({ kind: 'ok' })
    })
  })
})
