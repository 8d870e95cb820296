// An invitation, as a finder of the line would use it: the server lets it in for ten minutes, it is good for one machine, once, and for
// nothing else. Nobody is locked out by an answer that was lost.

import { createServer, connect as dial, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, LoginRefused, type ServerAddress, withClient } from '../../src/cluster/postgres/connection.ts'
import { JoinOutcomeUnknown, joinCluster } from '../../src/cluster/postgres/joining.ts'
import { dropInvitations, inviteMachine, revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { migrate } from '../../src/cluster/postgres/schema.ts'
import { PostgresServer, PostgresWorld, versions } from './postgres-server.ts'

const [denied, badPassword, tooMany] = ['42501', '28P01', '53300']

describe.each(versions)('PostgreSQL %s', (version, programs) => {
  let server: PostgresServer
  let world: PostgresWorld

  beforeAll(async () => {
    server = await PostgresServer.start(programs)
    world = await server.clusterOfBoss('relay')
    await world.join('first')
  })
  afterAll(() => server?.end())

  const invite = async (name: string, now?: number): Promise<ServerAddress> => {
    return { ...world.address, ...(await world.asAdmin((client) => inviteMachine(client, name, { now }))) }
  }

  async function said(client: Client, text: string): Promise<unknown> {
    return client.query(text).then(
      ({ rows }) => rows,
      ({ code }) => code,
    )
  }

  const roles = async (name: string) => {
    const text = 'SELECT rolname, rolconnlimit FROM pg_roles WHERE rolname LIKE $1 ORDER BY 1'
    const { rows } = await withClient(server.address, (client) => client.query(text, [`relay\\_${name}\\_%`]))
    return rows
  }

  /** Somebody is logged in as this role and does nothing. `ended`: once the server has ended that connection. */
  function idleAs(line: ServerAddress): Promise<{ ended: Promise<void> }> {
    return new Promise((resolve, reject) => {
      const ended = withClient(line, (client) => {
        const end = new Promise<void>((over) => client.on('end', over))
        resolve({ ended: end })
        return end
      })
      ended.catch(reject)
    })
  }

  test('it may execute what lets its machine join, and becomes nobody before that', async () => {
    const line = await invite('guest')
    const role = line.user.replace('_invited', '')
    await withClient(line, async (client) => {
      for (const text of [
        'SELECT * FROM relay.list_1()',
        "SELECT * FROM relay.hello_1('x')",
        'SELECT relay.free_1()',
        'SELECT * FROM relay.machines',
        `SET ROLE "${role}"`,
        'SET ROLE relay_machine',
        `ALTER ROLE "${role}" PASSWORD 'x'`,
        "ALTER ROLE CURRENT_USER VALID UNTIL 'infinity'",
        'ALTER ROLE CURRENT_USER CONNECTION LIMIT 50',
        `GRANT "${role}" TO CURRENT_USER`,
        'CREATE SCHEMA mine',
      ])
        expect([text, await said(client, text)]).toEqual([text, denied])
      expect(await said(client, 'SELECT relay.joined_2()')).toBe('P0002')
    })
    // Its machine cannot log in yet.
    await expect(withClient({ ...line, user: role }, async () => {})).rejects.toMatchObject({ code: badPassword })
    expect(await roles('guest')).toEqual([
      { rolname: role, rolconnlimit: 10 },
      { rolname: line.user, rolconnlimit: 2 },
    ])
  })

  test('once its machine has joined it is good for nothing, and the next word of the administrator drops it', async () => {
    const line = await invite('once')
    const joined = await joinCluster(line)
    expect(joined).toMatchObject({ machine: 'once', user: line.user.replace('_invited', '') })
    await withClient(line, async (client) => {
      expect(await said(client, `SET ROLE "${joined.user}"`)).toBe(denied)
      expect(await said(client, 'SELECT * FROM relay.join_2()')).toEqual([])
      expect(await said(client, 'SELECT relay.joined_2()')).not.toBe(denied)
      expect(await said(client, `SET ROLE "${joined.user}"`)).toBe(denied)
    })
    await expect(joinCluster(line)).rejects.toThrow(LoginRefused)
    const idle = await idleAs(line)
    await invite('another')
    await idle.ended
    expect(await roles('once')).toEqual([{ rolname: joined.user, rolconnlimit: 10 }])
    await expect(withClient(line, async () => {})).rejects.toMatchObject({ code: badPassword })
    const own = { ...world.address, ...joined }
    expect(await withClient(own, (client) => said(client, "SELECT name FROM relay.hello_1('x')"))).toEqual([
      { name: 'once' },
    ])
    for (const text of ['CONNECTION LIMIT 99', "VALID UNTIL 'infinity'", 'CREATEROLE'])
      expect(await withClient(own, (client) => said(client, `ALTER ROLE CURRENT_USER ${text}`))).toBe(denied)
  })

  test('it is let in no more once it has run out, and what it has begun before does not count', async () => {
    const late = await invite('late', Date.now() - 3_600_000)
    await expect(withClient(late, async () => {})).rejects.toMatchObject({ code: badPassword })
    const open = await invite('open')
    await withClient(open, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT 1')
      const end = "UPDATE relay.machines SET invited_until = clock_timestamp() WHERE name = 'open'"
      await world.asAdmin((boss) => boss.query(end))
      expect(await said(client, 'SELECT * FROM relay.join_2()')).toEqual([])
      await client.query('ROLLBACK')
      await world.asAdmin(dropInvitations)
    }).catch(() => {})
    expect([await roles('late'), await roles('open')]).toEqual([[], []])
    expect(await world.asAdmin((client) => revokeMachine(client, 'open'))).toEqual({ kind: 'unknown' })
  })

  test('it has two connections, and a machine ten', async () => {
    const full = async (address: ServerAddress, left: number): Promise<unknown> => {
      if (left === 0) return withClient(address, async () => 'let in').catch(({ code }) => code)
      return withClient(address, () => full(address, left - 1))
    }
    const line = await invite('many')
    expect([await full(line, 1), await full(line, 2)]).toEqual(['let in', tooMany])
    const own = { ...world.address, ...(await joinCluster(line)) }
    expect([await full(own, 9), await full(own, 10)]).toEqual(['let in', tooMany])
  })

  test('several administrators drop what has run out at once, and none is in the way of another', async () => {
    for (let round = 0; round < 5; round++) {
      const late = Array.from({ length: 3 }, (_, i) => invite(`late-${round}-${i}`, Date.now() - 3_600_000))
      await Promise.all(late)
      const all = Array.from({ length: 6 }, (_, i) => invite(`many-${round}-${i}`))
      expect((await Promise.all(all)).length).toBe(6)
    }
    await invite('last')
    expect(await roles('late')).toEqual([])
  })

  test('what its role has made in another database keeps nobody from inviting the machine again', async () => {
    const own = await world.join('messy')
    await withClient({ ...own, database: 'postgres' }, (client) => client.query('SELECT lo_create(0)'))
    await withClient(own, (client) => client.query('SELECT lo_create(0)'))
    expect(await world.asAdmin((client) => revokeMachine(client, 'messy'))).toMatchObject({ kind: 'ok' })
    expect((await world.join('messy')).user).not.toBe(own.user)
    await expect(withClient(own, async () => {})).rejects.toMatchObject({ code: expect.stringMatching(/^28/) })
  })

  test('a machine joins where the answer to its last word is lost, and is told where nobody can say whether it has', async () => {
    for (const [name, comesBack] of [
      ['cut', true],
      ['cutoff', false],
    ] as const) {
      const line = await invite(name)
      const way = await cutting(line, comesBack)
      const joined = joinCluster({ ...line, host: '127.0.0.1', port: (way.address() as { port: number }).port })
      if (comesBack) expect(await joined).toMatchObject({ machine: name })
      else await expect(joined).rejects.toThrow(JoinOutcomeUnknown)
      way.close()
    }
    // Nobody has the password of that one; it is let in again.
    expect(await world.asAdmin((client) => revokeMachine(client, 'cutoff'))).toMatchObject({ kind: 'ok' })
    expect((await world.join('cutoff')).user).toBeDefined()
  })

  /** A way to the server that ends with the answer to a COMMIT; afterwards it is open again, or not. */
  async function cutting({ host, port }: ServerAddress, comesBack: boolean): Promise<Server> {
    let isCut = false
    const way = createServer((near) => {
      if (isCut && !comesBack) return void near.destroy()
      const far = dial(join(host, `.s.PGSQL.${port}`))
      for (const end of [near, far]) end.on('error', () => {})
      near.on('data', (bytes) => {
        far.write(bytes)
        if (!bytes.includes('COMMIT')) return
        isCut = true
        far.once('data', () => [near, far].map((end) => end.destroy()))
      })
      far.on('data', (bytes) => void (near.destroyed || (isCut && !comesBack) || near.write(bytes)))
    })
    await new Promise<void>((resolve) => void way.listen(0, '127.0.0.1', resolve))
    return way
  }

  test('a machine that joined before goes on, also when the cluster is brought up to date', async () => {
    const own = await world.join('goes-on')
    await world.asAdmin(migrate)
    expect(await withClient(own, (client) => said(client, "SELECT name FROM relay.hello_1('x')"))).toEqual([
      { name: 'goes-on' },
    ])
  })
  test('who brings a cluster up to date is told of the roles that only another administrator can limit', async () => {
    const { user } = await world.join('desk')
    await world.asAdmin(async (client) => {
      await client.query("CREATE ROLE deputy LOGIN CREATEROLE PASSWORD 'deputy'")
      await client.query('GRANT relay_owner TO deputy WITH ADMIN OPTION')
      await client.query('GRANT CREATE ON DATABASE relay TO deputy')
    })
    const deputy = new PostgresWorld({ ...world.address, user: 'deputy', password: 'deputy' })
    expect(await deputy.asAdmin(migrate)).toEqual([])
    // As a former version has made it. Before version 16 whoever may make roles may change all of them.
    await world.asAdmin((client) => client.query(`REVOKE "${user}" FROM relay_owner`))
    expect(await deputy.asAdmin(migrate)).toEqual(version.startsWith('15') ? [] : ['desk'])
    expect(await world.asAdmin(migrate)).toEqual([])
  })
})
