// The database rights of a machine's role, as a thief of it would use them: nothing but what its functions allow.

import type { Fact } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Append, type ClusterJournal, entryBytesMax, journalStart } from '../../src/cluster/cluster-journal.ts'
import { type Client, LoginRefused, type ServerAddress, withClient } from '../../src/cluster/postgres/connection.ts'
import { joinCluster } from '../../src/cluster/postgres/joining.ts'
import { inviteMachine, revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { migrate } from '../../src/cluster/postgres/schema.ts'
import { emptyWorkspace } from './empty-workspace.ts'
import { PostgresServer, type PostgresWorld } from './postgres-server.ts'

const workspace = 'w_team'
let server: PostgresServer
let world: PostgresWorld
let thief: ServerAddress
let honest: ServerAddress
let daemon: PostgresCluster
let journal: ClusterJournal
let causes = 0

beforeAll(async () => {
  server = await PostgresServer.start()
  world = await server.cluster('team')
  thief = await world.join('thief')
  honest = await world.join('honest')
  daemon = new PostgresCluster(honest)
  await emptyWorkspace(daemon, workspace)
  journal = daemon.journal(workspace)
})
afterAll(async () => {
  await daemon?.close()
  server?.end()
})

function entry(by: string, facts: Fact[] = []): Append {
  const draft = { at: 1, by, cause: `c${++causes}`, rule: 'test', outcome: {}, facts, writes: [] }
  return { position: journalStart, reads: [], drafts: [draft] }
}

/** What the server says to a statement of the machine: the state of its refusal, or the rows. */
async function says(text: string, address = thief): Promise<unknown> {
  return withClient(address, (client) => said(client, text))
}

async function said(client: Client, text: string, values?: unknown[]): Promise<unknown> {
  try {
    return (await client.query(text, values)).rows
  } catch (error) {
    return (error as { code: string }).code
  }
}

const denied = '42501'
const count = async () => (await world.asAdmin((client) => client.query('SELECT FROM relay.journal'))).rowCount

/** What is asked of append, in the thief's own hand: how it went, the state of its refusal, or nothing. */
async function byHand(client: Client, changes: Record<string, unknown> = {}): Promise<unknown> {
  const asked = {
    ...{ workspace, boot: 1, seq: 0, mark: '', reads: '[]', homes: '[]' },
    ...{ drafts: JSON.stringify([{ at: 1, by: 'eve', cause: `t${++causes}` }]), entries: '["{}"]', payloads: '[]' },
    ...changes,
  }
  const answer = await said(client, 'SELECT * FROM relay.append_2($1,$2,$3,$4,$5,$6,$7,$8,$9)', Object.values(asked))
  return Array.isArray(answer) ? answer[0]?.kind : answer
}

test('it reads and writes no table, and calls no function that was not made for it', async () => {
  const { rows } = await world.asAdmin((client) =>
    client.query(
      "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'relay'::regnamespace AND relkind IN ('r', 'S') ORDER BY 1",
    ),
  )
  expect(rows.length).toBeGreaterThan(6)
  for (const { relname } of rows)
    expect([relname, await says(`SELECT * FROM relay.${relname}`)]).toEqual([relname, denied])
  for (const text of [
    'INSERT INTO relay.keys VALUES (1, $$a$$, 1)',
    'UPDATE relay.machines SET boot = 9',
    'DELETE FROM relay.journal',
    'TRUNCATE relay.journal',
    'COPY relay.journal TO STDOUT',
    'CREATE TABLE relay.mine (a int)',
    'CREATE FUNCTION relay.mine() RETURNS int LANGUAGE sql AS $$SELECT 1$$',
    'ALTER FUNCTION relay.back_1() RESET ALL',
    'DROP SCHEMA relay CASCADE',
    'CREATE SCHEMA mine',
    'SELECT * FROM relay.self_1()',
    'SELECT * FROM relay.page_1(1, 0, 10)',
    'SELECT * FROM relay.page_2(1, 0, 10)',
    "SELECT nextval('relay.machines_id_seq')",
    'SELECT pg_read_file($$/etc/passwd$$)',
    'SELECT * FROM pg_authid',
  ])
    expect([text, await says(text)]).toEqual([text, denied])
})

test('it becomes nobody else', async () => {
  const other = `"${honest.user}"`
  for (const text of [
    'SET ROLE relay_owner',
    `SET ROLE ${other}`,
    'SET ROLE postgres',
    `SET SESSION AUTHORIZATION ${other}`,
    `ALTER ROLE ${other} PASSWORD 'x'`,
    `ALTER ROLE "${thief.user}" CREATEROLE`,
    `GRANT relay_machine TO ${other}`,
    `GRANT relay_owner TO "${thief.user}"`,
    'CREATE ROLE mine LOGIN',
  ])
    expect([text, await says(text)]).toEqual([text, denied])
  // The group has nothing that the machine has not, and the cluster still sees who has logged in.
  await withClient(thief, async (client) => {
    await client.query('SET ROLE relay_machine')
    expect(await said(client, "SELECT name FROM relay.hello_1('x')")).toEqual([{ name: 'thief' }])
  })
})

test('every function that runs with the rights of the owner has a search path that no caller changes', async () => {
  const { rows } = await world.asAdmin((client) =>
    client.query(
      "SELECT proname, prosecdef, proconfig, has_function_privilege('relay_machine', oid, 'execute') AS open, has_function_privilege('relay_invited', oid, 'execute') AS invited FROM pg_proc WHERE pronamespace = 'relay'::regnamespace",
    ),
  )
  for (const { proname, prosecdef, proconfig, open, invited } of rows) {
    expect([proname, prosecdef]).toEqual([proname, open !== invited])
    expect([proname, invited]).toEqual([proname, ['join_2', 'joined_2', 'parcel_1'].includes(proname)])
    if (prosecdef) expect([proname, ...proconfig]).toContain('search_path=pg_catalog, pg_temp')
  }
  const owner = "SELECT rolsuper, rolcreaterole, rolcanlogin, rolbypassrls FROM pg_roles WHERE rolname = 'relay_owner'"
  const { rows: rights } = await world.asAdmin((client) => client.query(owner))
  expect(Object.values(rights[0])).toEqual([false, false, false, false])
})

test('what it puts into its own temporary schema is never taken for what the functions mean', async () => {
  await withClient(thief, async (client) => {
    await client.query('CREATE TEMP TABLE seen (who text)')
    const spy = (head: string) => `CREATE FUNCTION pg_temp.${head} LANGUAGE plpgsql AS
      $$BEGIN INSERT INTO pg_temp.seen VALUES (current_user); RETURN NULL; END$$`
    for (const head of [
      'json_array_length(json) RETURNS int',
      'json_typeof(json) RETURNS text',
      'gen_random_uuid() RETURNS uuid',
      'replace(text, text, text) RETURNS text',
      'pg_notify(text, text) RETURNS text',
      'octet_length(text) RETURNS int',
      'now() RETURNS timestamptz',
      'self_1() RETURNS int',
    ])
      await client.query(spy(head))
    for (const name of ['machines', 'workspaces', 'journal', 'keys', 'homes', 'row_1', 'row_2', 'json', 'text'])
      await client.query(`CREATE TEMP TABLE "${name}" (id int)`)
    await client.query(spy('same(int, int) RETURNS boolean'))
    await client.query('CREATE OPERATOR pg_temp.= (LEFTARG = int, RIGHTARG = int, FUNCTION = pg_temp.same)')
    await client.query('SET search_path = pg_temp, relay, pg_catalog')
    const { rows } = await client.query("SELECT boot FROM relay.hello_1('x')")
    expect(await byHand(client, { boot: rows[0].boot })).toBe('ok')
    expect(await said(client, 'SELECT * FROM relay.list_1()')).toMatchObject([{ id: workspace }])
    expect(
      await said(client, 'SELECT * FROM pg_temp.seen WHERE who OPERATOR(pg_catalog.<>) session_user::pg_catalog.text'),
    ).toEqual([])
  })
})

describe('what it appends', () => {
  let client: Client
  let boot: number
  beforeAll(async () => {
    const open = new Promise<Client>((resolve) => void withClient(thief, (mine) => new Promise(() => resolve(mine))))
    client = await open
    boot = (await client.query("SELECT boot FROM relay.hello_1('x')")).rows[0].boot
  })
  afterAll(() => client?.end())

  test('carries its own name', async () => {
    expect(await byHand(client, { boot })).toBe('ok')
    const followed = await journal.follow(journalStart, 1_000)
    const theirs = followed.kind === 'entries' ? followed.entries.filter(({ by }) => by === 'eve') : []
    expect(new Set(theirs.map(({ machine }) => machine))).toEqual(new Set(['thief']))
  })

  test('is in format 1 never said by an agent whose home is elsewhere; from format 2 on machines judge that, and the former function is shut', async () => {
    const old = 'w_old'
    await emptyWorkspace(daemon, old)
    const format = (number: number) =>
      world.asAdmin((admin) => admin.query('UPDATE relay.workspaces SET format = $1 WHERE id = $2', [number, old]))
    await format(1)
    const bobs: Fact = { type: 'agent.homed', agent: 'bob', machine: 'honest', epoch: 1 }
    expect(await daemon.journal(old).append(entry('bob', [bobs]))).toMatchObject({ kind: 'ok' })
    const before = await count()
    const as = (by: string) => JSON.stringify([{ at: 1, by, cause: `t${++causes}` }])
    const asBob = { workspace: old, boot, drafts: as('bob') }
    const move = (machine: string, epoch = 2) => JSON.stringify([{ agent: 'bob', machine, epoch }])
    expect(await byHand(client, asBob)).toBe('denied')
    expect(await byHand(client, { ...asBob, homes: move('honest') })).toBe('denied')
    expect(await byHand(client, { ...asBob, homes: move('thief', 1) })).toBe('behind')
    const daemons = JSON.stringify([{ agent: 'agent-relay', machine: 'thief', epoch: 1 }])
    expect(await byHand(client, { workspace: old, boot, homes: daemons })).toBe('denied')
    expect(await count()).toBe(before)
    const former = 'SELECT kind FROM relay.append_1($1, $2, 0, $3, $4, $4, $4, $5, $6, $4)'
    const values = [old, boot, '', '[]', as('eve'), '["{}"]']
    expect(await said(client, former, values)).toMatchObject([{ kind: 'ok' }, {}])
    await format(2)
    expect(await said(client, former, [...values.slice(0, 4), as('eve'), '["{}"]'])).toBe('0A000')
    expect(await byHand(client, asBob)).toBe('ok')
  })

  test('is nothing where it is not whole, not text, or too much', async () => {
    const before = await count()
    const cause = () => `t${++causes}`
    const drafts = (...all: object[]) =>
      JSON.stringify(all.map((each) => ({ at: 1, by: 'eve', cause: cause(), ...each })))
    for (const changes of [
      { drafts: drafts({ by: 'e\0ve' }) },
      { drafts: drafts({ by: null }) },
      { drafts: drafts({ cause: 'x'.repeat(100_000) }) },
      { drafts: drafts({ by: 'x'.repeat(100_000) }) },
      { drafts: drafts({ at: 'soon' }) },
      { drafts: drafts({}, {}) },
      { drafts: drafts(...Array.from({ length: 1_001 }, () => ({}))) },
      { drafts: '{}' },
      { drafts: '[1]' },
      { drafts: drafts({ writes: ['x'.repeat(100_000)] }) },
      { drafts: drafts({ writes: Array.from({ length: 50_000 }, (_, i) => `k${i}`) }) },
      { drafts: drafts(...Array.from({ length: 40 }, () => ({ writes: 'x'.repeat(250_000) }))) },
      { entries: '[]' },
      { entries: '["{}", "{}"]' },
      { payloads: '["not base64 !"]' },
      { workspace: 'another' },
      { entries: JSON.stringify(['x'.repeat(entryBytesMax + 1)]) },
      { payloads: JSON.stringify([Buffer.alloc(entryBytesMax + 1).toString('base64')]) },
      { mark: 'a\0b' },
    ])
      expect([changes, await byHand(client, { boot, ...changes })]).toEqual([
        changes,
        expect.stringMatching(/^[0-9A-Z]{5}$/),
      ])
    for (const field of ['boot', 'seq', 'mark', 'reads', 'drafts', 'workspace'])
      expect([field, await byHand(client, { boot, [field]: null })]).toEqual([field, undefined])
    for (const seq of [-1, 2 ** 40]) expect(await byHand(client, { boot, seq })).toBe('diverged')
    expect(await count()).toBe(before)
  })

  test('is not decided on an old state, at whatever level of isolation', async () => {
    const all = JSON.stringify('all')
    for (const level of ['REPEATABLE READ', 'SERIALIZABLE']) {
      await client.query(`BEGIN ISOLATION LEVEL ${level}`)
      await client.query('SELECT relay.list_1()')
      expect(await journal.append(entry('agent-relay'))).toMatchObject({ kind: 'ok' })
      expect(await byHand(client, { boot, reads: all })).toBe('40001')
      await client.query('ROLLBACK')
    }
  })
})

test('an invitation works once and in time, and what it was given in is no longer the password', async () => {
  const invite = (name: string, now?: number) => world.asAdmin((client) => inviteMachine(client, name, { now }))
  const [late, first] = [await invite('late', Date.now() - 3_600_000), await invite('guest')]
  await expect(joinCluster({ ...world.address, ...late })).rejects.toMatchObject({ code: '28P01' })
  const again = await invite('guest')
  await expect(joinCluster({ ...world.address, ...first })).rejects.toMatchObject({ code: '28P01' })
  const joined = await joinCluster({ ...world.address, ...again })
  expect(joined.machine).toBe('guest')
  await expect(joinCluster({ ...world.address, ...again })).rejects.toThrow(LoginRefused)
  expect(await says('SELECT relay.join_2()', { ...world.address, ...joined })).toEqual(denied)
})

test('a machine of another database of the same server sees nothing here', async () => {
  const elsewhere = await (await server.cluster('elsewhere')).join('honest')
  const here = new PostgresCluster({ ...elsewhere, database: world.address.database })
  expect(await here.journal(workspace).append(entry('eve'))).toEqual({ kind: 'revoked' })
  expect(await here.journal(workspace).follow(journalStart, 10)).toEqual({ kind: 'revoked' })
  await here.close()
})

test('once revoked it is thrown out, and let in no more', async () => {
  const gone = new PostgresCluster(await world.join('gone'))
  const mine = gone.journal(workspace)
  expect(await mine.append(entry('agent-relay'))).toMatchObject({ kind: 'ok' })
  const revoke = (name: string) => world.asAdmin((client) => revokeMachine(client, name))
  expect(await revoke('gone')).toEqual({ kind: 'ok', ended: 1 })
  const text = "SELECT FROM pg_stat_activity WHERE usename LIKE 'relay_gone%'"
  expect((await world.asAdmin((client) => client.query(text))).rowCount).toBe(0)
  expect(await revoke('gone')).toEqual({ kind: 'ok', ended: 0 })
  expect(await revoke('nobody')).toEqual({ kind: 'unknown' })
  // The first question may find that its connection has ended; the next one is told why.
  const told = await mine.append(entry('agent-relay')).catch(() => mine.append(entry('agent-relay')))
  expect(told).toEqual({ kind: 'revoked' })
  await gone.close()
})

test('a cluster is made once, whoever asks again, and one of a later version is left alone', async () => {
  await world.asAdmin(migrate)
  await world.asAdmin((client) => client.query('INSERT INTO relay.schema_info VALUES (99)'))
  await expect(world.asAdmin(migrate)).rejects.toThrow('later version')
  await world.asAdmin((client) => client.query('DELETE FROM relay.schema_info WHERE version = 99'))
})

test('a schema or a role that somebody else has made before is not taken over', async () => {
  const taken = async (statements: string[], undo: string[]) => {
    await withClient(server.address, async (client) => {
      for (const statement of statements) await client.query(statement)
    })
    const why = await withClient(server.address, (client) =>
      migrate(client).then(
        () => 'nothing',
        (error: Error) => error.message,
      ),
    )
    await withClient(server.address, async (client) => {
      for (const statement of undo) await client.query(statement)
    })
    return why
  }
  const login = await taken(['ALTER ROLE relay_machine LOGIN'], ['ALTER ROLE relay_machine NOLOGIN'])
  expect(login).toBe(
    'the role relay_machine exists already and can log in, so it was not made for a cluster. Drop or rename it.',
  )
  expect(await taken(['ALTER ROLE relay_owner CREATEROLE'], ['ALTER ROLE relay_owner NOCREATEROLE'])).toContain(
    'relay_owner exists already and can make roles',
  )
  expect(
    await taken(['CREATE ROLE eve', 'CREATE SCHEMA relay AUTHORIZATION eve'], ['DROP SCHEMA relay', 'DROP ROLE eve']),
  ).toContain('the schema relay exists already and belongs to eve')
})
