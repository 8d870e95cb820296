// Two commands until two machines share a workspace: `workspace share NAME --invite MACHINE` here, `machine join` there. On a real PostgreSQL.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../../test/free-port.ts'
import { until } from '../../../../test/until.ts'
import { parseInvitation } from '../../src/cli/commands/cluster/invitation.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { joinCluster } from '../../src/cluster/postgres/joining.ts'
import { inviteMachine } from '../../src/cluster/postgres/machines.ts'
import { sealParcel, unsealParcel } from '../../src/cluster/postgres/parcel.ts'
import { World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer
let own: { env: Record<string, string> }
const [laptop, box] = [new World(), new World()]

beforeAll(async () => {
  server = await PostgresServer.start()
  const { user: PGUSER, password: PGPASSWORD = '' } = server.address
  own = { env: { PGHOST: server.folder, PGUSER, PGPASSWORD } }
})
afterAll(async () => {
  await Promise.all([laptop.close(), box.close()])
  server?.end()
})

const share = ['workspace', 'share', 'team', '--invite', 'box']

test('no PostgreSQL answers: one line says what to install or to type, and nothing was made', async () => {
  await laptop.serve()
  await laptop.run(['workspace', 'create', 'team'])
  const port = String(await freePort())
  const none = await laptop.run(share, { env: { PGHOST: '127.0.0.1', PGPORT: port, PATH: laptop.directory('empty') } })
  expect([none.code, none.stderr]).toEqual([78, expect.stringContaining('none answers on this machine')])
  expect(none.stderr).toContain('agent-relay cluster init postgres://')
  const apt = laptop.directory('bin/apt-get')
  const debian = await laptop.run(share, { env: { PGHOST: '127.0.0.1', PGPORT: port, PATH: join(apt, '..') } })
  const line = debian.stderr.split('\n').find((each) => each.includes('apt-get install')) ?? ''
  expect(line).toMatch(
    /createuser --createrole --createdb \S+ && (?:\S*\/)?agent-relay workspace share team --invite box$/,
  )
  const stranger = await laptop.run(share, { env: { ...own.env, PGUSER: 'stranger', PGPASSWORD: 'x' } })
  expect(stranger.stderr).toMatch(
    /sudo -u postgres createuser .* stranger && (?:\S*\/)?agent-relay workspace share team/,
  )
  expect(existsSync(join(laptop.dataDir, 'cluster.json'))).toBe(false)
})

test('a server that no other machine reaches: the lines to change, and no line that would not work elsewhere', async () => {
  const { code, stdout, stderr } = await laptop.run([...share, '--at', '0.0.0.0'], own)
  expect([code, stdout]).toEqual([78, ''])
  expect(stderr).toContain("listen_addresses = '*'")
  expect(stderr).toContain('ssl = on')
  expect(stderr).toMatch(/pg_hba\.conf: hostssl relay \+relay_machine,\+relay_invited \S+ scram-sha-256/)
  expect(stderr).toContain('Then: agent-relay machine invite box --workspace team --at 0.0.0.0')
})

test('one command here, one there: joined, the workspace open, its key kept', async () => {
  const { code, stdout: line, stderr } = await laptop.run([...share, '--at', server.folder], own)
  expect([code, line]).toEqual([0, expect.stringMatching(/^relay:\/\/\S+\n$/)])
  expect(stderr).toContain('once, within ten minutes')
  const { stdout: key } = await laptop.run(['workspace', 'key', 'team'])
  expect(line).not.toContain(key.trim())
  // Nor is it in the database, for whoever reads that.
  const rows = await withClient({ ...server.address, database: 'relay' }, (client) =>
    client.query('SELECT parcel FROM relay.machines WHERE parcel IS NOT NULL'),
  )
  expect(rows.rows).toHaveLength(1)
  expect(JSON.stringify(rows.rows)).not.toContain(key.trim())
  await box.serve()
  const joined = await box.launch(['machine', 'join', '--yes'], { input: line })
  expect([joined.code, joined.stdout]).toEqual([0, expect.stringContaining('This machine is box')])
  expect(joined.stderr).toContain('Workspace team is open here')
  expect((await box.run(['workspace', 'key', 'team'])).stdout).toBe(key)
  const parcels = await withClient({ ...server.address, database: 'relay' }, (client) =>
    client.query('SELECT parcel FROM relay.machines WHERE parcel IS NOT NULL'),
  )
  expect(parcels.rows).toEqual([])
  await laptop.run(['register', 'Ann', '--project', 'team'])
  await laptop.run(['inbox', '--as', 'Ann', '--project', 'team'])
  await until(async () => (await box.run(['send', 'Ann', 'hello', '--as', 'Bob', '--project', 'team'])).code === 0)
  await until(async () => (await laptop.run(['inbox', '--as', 'Ann', '--project', 'team'])).stdout.includes('hello'))
})

test('a workspace that is shared already is not copied again: another machine gets its line', async () => {
  const again = await laptop.run(['workspace', 'share', 'team', '--invite', 'third', '--at', server.folder], own)
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^relay:/)])
  const local = await laptop.run(['machine', 'invite', 'fourth', '--workspace', 'app', '--at', server.folder], own)
  expect([local.code, local.stderr]).toEqual([1, expect.stringContaining('agent-relay workspace share app --invite')])
  const third = new World()
  const { code, stderr } = await third.launch(['machine', 'join'], { input: again.stdout })
  expect([code, stderr]).toEqual([0, expect.stringContaining('Workspace team is open here')])
  expect(stderr).toContain('agent-relay workspace key team --keep')
  expect((await third.launch(['workspace', 'key', 'team'])).code).toBe(1)
  // No daemon ran there: now one does.
  expect((await third.launch(['daemon', 'stop'])).code).toBe(0)
  await third.close()
})

test('what an invitation brings opens with its own secret alone, once, and is gone when it is over', async () => {
  const parcel = { workspace: 'team', id: 'w_1', key: 'rk_secret' }
  const sealed = sealParcel('secret', parcel)
  expect(unsealParcel('secret', sealed)).toEqual(parcel)
  expect(unsealParcel('another', sealed)).toBeUndefined()
  const bytes = Buffer.from(sealed, 'base64url')
  for (const at of [0, 20, 30, bytes.length - 1]) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 1
    expect(unsealParcel('secret', changed.toString('base64url'))).toBeUndefined()
  }
  expect(unsealParcel('secret', '')).toBeUndefined()
  const where = { ...server.address, database: 'relay' }
  const asAdmin = <T>(work: Parameters<typeof withClient<T>>[1]) => withClient(where, work)
  const late = await asAdmin((client) => inviteMachine(client, 'late', { now: 0, parcel }))
  expect(late.password).not.toBe('')
  const first = await asAdmin((client) => inviteMachine(client, 'guest', { parcel }))
  const second = await asAdmin((client) => inviteMachine(client, 'guest', { parcel }))
  // Whoever has another invitation takes nothing of this one; a failed join leaves it there.
  await expect(joinCluster({ ...where, ...first })).rejects.toThrow()
  const joined = await joinCluster({ ...where, ...second })
  expect(joined.parcel).toEqual(parcel)
  await asAdmin((client) => inviteMachine(client, 'other'))
  const left = await asAdmin((client) => client.query('SELECT name FROM relay.machines WHERE parcel IS NOT NULL'))
  expect(left.rows).toEqual([])
})

test('an invitation without a key is the same line as before', async () => {
  const { stdout } = await laptop.run(['machine', 'invite', 'plain', '--at', server.folder], own)
  const invitation = parseInvitation(stdout)
  expect((await joinCluster({ ...invitation })).parcel).toBeUndefined()
})
