// A cluster of the third schema, with a workspace and machines of that time, is brought up to date and cut off at every few statements: each time
// it opens with all of its content, its machines go on, and the next try ends the work.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, withClient } from '../../src/cluster/postgres/connection.ts'
import { scramVerifierOf } from '../../src/cluster/postgres/machine-roles.ts'
import { migrate, migrations } from '../../src/cluster/postgres/schema.ts'
import { sharingBeginFacts } from '../../src/core/workspaces.ts'
import { PostgresServer, versions } from './postgres-server.ts'

const boss = { user: 'boss', password: 'boss' }
const entries = 50

describe.each(versions)('PostgreSQL %s', (_, programs) => {
  let server: PostgresServer
  const at = (who = boss) => ({ ...server.address, database: 'relay', ...who })
  const machine = (name: string) => ({ user: `relay_${name}_00000000`, password: name })

  beforeAll(async () => {
    server = await PostgresServer.start(programs)
    await withClient(server.address, async (client) => {
      await client.query(`CREATE ROLE boss LOGIN CREATEROLE PASSWORD 'boss'`)
      await client.query('CREATE DATABASE relay OWNER boss')
    })
    await withClient(at(), thirdSchema)
  })
  afterAll(() => server?.end())

  async function thirdSchema(client: Client): Promise<void> {
    for (const role of ['relay_owner', 'relay_machine']) await client.query(`CREATE ROLE ${role} NOLOGIN`)
    await client.query('GRANT relay_owner TO CURRENT_USER')
    await client.query('CREATE SCHEMA relay AUTHORIZATION relay_owner')
    for (const name of ['old', 'other', 'invited']) {
      const { user, password } = machine(name)
      await client.query(`CREATE ROLE ${user} LOGIN PASSWORD '${scramVerifierOf(password)}'`)
      await client.query(`GRANT relay_machine TO ${user}`)
    }
    await client.query('SET ROLE relay_owner')
    await client.query('CREATE TABLE relay.schema_info (version int NOT NULL)')
    for (const [i, statements] of migrations.slice(0, 3).entries()) {
      for (const statement of statements) await client.query(statement)
      await client.query('INSERT INTO relay.schema_info VALUES ($1)', [i + 1])
    }
    const joined = 'INSERT INTO relay.machines (name, role, joined_at) VALUES ($1, $2, now())'
    for (const name of ['old', 'other']) await client.query(joined, [name, machine(name).user])
    const invited =
      "INSERT INTO relay.machines (name, role, invited_until) VALUES ('invited', $1, now() + interval '1 hour')"
    await client.query(invited, [machine('invited').user])
    await client.query(
      "INSERT INTO relay.workspaces (id, name, format, head) VALUES ('w_team', 'team', 2, $1), ('w_first', 'first', 1, 0)",
      [entries],
    )
    const owned = JSON.stringify({ rule: 'x', outcome: {}, facts: sharingBeginFacts('other') })
    // What machines have written names owners too, and some of it is no JSON.
    const text = `INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry) SELECT 1, n, n, 'agent-relay', 'c' || n, 1,
      CASE WHEN n < 10 THEN 'copy-s.' || n ELSE 'm' || n END, CASE WHEN n = 5 THEN $2 WHEN n IN (7, 20) THEN 'workspace.owned [' WHEN n = 30 THEN $3 ELSE '{}' END
      FROM generate_series(1, $1::int) n`
    await client.query(text, [entries, owned, owned.replace('other', 'old')])
  }

  /** What the cluster holds, as the machine that joined before sees it. */
  async function seen(): Promise<unknown> {
    return withClient(at(machine('old')), async (client) => {
      const { rows: greeting } = await client.query("SELECT name, boot FROM relay.hello_1('x')")
      const { rows } = await client.query("SELECT kind FROM relay.follow_1('w_team', $1, 0, '', 1000)", [
        greeting[0].boot,
      ])
      return [greeting[0].name, rows.length]
    })
  }

  const version = async () =>
    (await withClient(at(), (client) => client.query('SELECT max(version) AS version FROM relay.schema_info'))).rows[0]
      .version

  /** Cuts the connection at its nth statement. Answers whether the work was through before. */
  async function cutAt(n: number): Promise<boolean> {
    return withClient(at(), async (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
      let asked = 0
      client.query = ((...args: unknown[]) => {
        const answer = query(...args)
        if (++asked === n)
          (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
        return answer
      }) as typeof client.query
      await migrate(client)
    }).then(
      () => true,
      () => false,
    )
  }

  test('it is brought up to date wherever that is cut off, and loses nothing', async () => {
    let cuts = 0
    for (let n = 1; !(await cutAt(n)); n += 3) {
      cuts++
      expect([3, migrations.length]).toContain(await version())
      expect(await seen()).toEqual(['old', entries + 1])
    }
    expect(cuts).toBeGreaterThan(10)
    expect(await version()).toBe(migrations.length)
  })

  test('its machines have the limits of now, its workspaces an owner, and an invitation of that time is over', async () => {
    await withClient(at(), migrate)
    await withClient(at(), async (client) => {
      const { rows } = await client.query(
        "SELECT rolname, rolconnlimit, pg_has_role('relay_owner', oid, 'USAGE') AS has FROM pg_roles WHERE rolname LIKE 'relay\\_%\\_00000000' ORDER BY 1",
      )
      expect(rows).toEqual(
        ['old', 'other'].map((name) => ({ rolname: machine(name).user, rolconnlimit: 10, has: true })),
      )
      const owners =
        'SELECT w.name, m.name AS owner FROM relay.workspaces w LEFT JOIN relay.machines m ON m.id = w.owner ORDER BY w.ws'
      expect((await client.query(owners)).rows).toEqual([
        { name: 'team', owner: 'other' },
        { name: 'first', owner: null },
      ])
      expect((await client.query("SELECT FROM relay.machines WHERE name = 'invited'")).rowCount).toBe(0)
    })
    await expect(withClient(at(machine('invited')), async () => {})).rejects.toMatchObject({ code: '28P01' })
  })
})
