// A PostgreSQL that fails, for each possible reason: the messages to a person, a machine and a daemon. Real servers.

import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { refused } from '../../../../test/plays/play.ts'
import { ClusterUnreachable } from '../../src/cluster/cluster-journal.ts'
import { type Client, LoginRefused, type ServerAddress, withClient } from '../../src/cluster/postgres/connection.ts'
import { faultOf } from '../../src/cluster/postgres/faults.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { World } from '../cli/cli-world.ts'
import { Machine } from './machine.ts'
import { PostgresServer, type PostgresWorld } from './postgres-server.ts'

let server: PostgresServer
let world: PostgresWorld
let box: ServerAddress
const shell = new World()

beforeAll(async () => {
  server = await PostgresServer.start()
  world = await server.cluster('relay')
  await world.join('laptop')
  box = await world.join('box')
})
afterAll(async () => {
  await shell.close()
  server?.end()
})

/** How a daemon of this machine is answered. */
async function answerOf(address: ServerAddress): Promise<unknown> {
  const cluster = new PostgresCluster(address)
  try {
    return await cluster.workspaces()
  } catch (error) {
    return error
  } finally {
    await cluster.close()
  }
}

async function faultAt(address: ServerAddress) {
  const error = await answerOf(address)
  expect(error).toBeInstanceOf(ClusterUnreachable)
  return (error as ClusterUnreachable).fault
}

/** `cluster status`, as on a machine with this place. */
function statusAt(address: ServerAddress, machine = 'box') {
  new ClusterFile(shell.dataDir).write({ ...address, machine } as ClusterMembership)
  return shell.run(['cluster', 'status'])
}

const asBoss = <T>(work: (client: Client) => Promise<T>) => withClient(server.address, work)

test('a database that is not there', async () => {
  shell.directory('data')
  const gone = { ...box, database: 'gone' }
  expect(await faultAt(gone)).toMatchObject({ kind: 'database', isLasting: true })
  expect(await statusAt(gone)).toMatchObject({
    code: 69,
    stderr: expect.stringContaining('There is no database "gone"'),
  })
  const init = await shell.run(['cluster', 'init', `postgres://postgres@/gone?host=${server.folder}`], {
    env: { PGPASSWORD: server.address.password, RELAY_DATA_DIR: shell.directory('new') },
  })
  expect(init.stderr).toContain('To make it: createdb gone')
})

test('a database without our schema, also where it is lost while a daemon asks', async () => {
  expect(await faultAt({ ...box, database: 'postgres' })).toMatchObject({ kind: 'schema', isLasting: true })
  expect((await statusAt({ ...box, database: 'postgres' })).stderr).toMatch(/no schema "relay".*from its backup/)
  const cluster = new PostgresCluster(box)
  await cluster.workspaces()
  await world.asAdmin((client) => client.query('ALTER SCHEMA relay RENAME TO away'))
  await expect(cluster.workspaces()).rejects.toMatchObject({ fault: { kind: 'schema', isLasting: true } })
  await world.asAdmin((client) => client.query('ALTER SCHEMA away RENAME TO relay'))
  // It has gone on by itself.
  expect(await cluster.workspaces()).toEqual([])
  await cluster.close()
})

test('a machine that was removed, and one whose password is another one', async () => {
  const { user } = box
  await asBoss((client) => client.query(`ALTER ROLE "${user}" NOLOGIN`))
  expect(await answerOf(box)).toMatchObject({
    fault: { kind: 'removed', text: expect.stringContaining('box, was removed there') },
  })
  expect(await statusAt(box)).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('This machine, box, was removed there'),
  })
  await asBoss((client) => client.query(`ALTER ROLE "${user}" LOGIN`))
  const wrong = { ...box, password: 'another' }
  const error = await answerOf(wrong)
  expect(error).toBeInstanceOf(LoginRefused)
  expect(error).toMatchObject({ fault: { kind: 'password', isLasting: true } })
  const told = await statusAt(wrong)
  expect([told.code, told.stderr]).toEqual([77, expect.stringContaining('has another password now, or is gone')])
  expect(told.stderr).toContain('agent-relay machine revoke box, agent-relay machine invite box')
  expect(await answerOf(box)).toEqual([])
})

test('a daemon whose password the server does not know says so, and not that it was removed', async () => {
  const machine = await Machine.start('desk', world, { onTrouble: () => {} })
  await machine.stop()
  const file = new ClusterFile(machine.dataDir)
  file.write({ ...(file.read() as ClusterMembership), password: 'another' })
  await machine.start()
  await machine.open('own')
  await refused(machine.control('workspace.share', { workspace: 'own' }), 'machine.revoked', /has another password now/)
  await machine.close()
})

test('a role that may not use the schema any more', async () => {
  const desk = await world.join('clerk')
  await asBoss((client) => client.query(`REVOKE relay_machine FROM "${desk.user}"`))
  expect(await faultAt(desk)).toMatchObject({ kind: 'rights', isLasting: true })
})

test('a full disk of the server passes, and is said as that', async () => {
  const full = (client: Client) =>
    client.query(`CREATE FUNCTION relay.full() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON relay.workspaces EXECUTE FUNCTION relay.full()`)
  await world.asAdmin(full)
  const machine = await Machine.start('tablet', world)
  await machine.open('notes')
  const shared = machine.control('workspace.share', { workspace: 'notes' })
  await refused(shared, 'cluster.unreachable', /The disk of the server is full/)
  await world.asAdmin((client) => client.query('DROP TRIGGER full_disk ON relay.workspaces'))
  expect(await machine.control('workspace.share', { workspace: 'notes' })).toMatchObject({ shared: true })
  await machine.close()
})

function listens(onConnection: Parameters<typeof createServer>[1]): Promise<Server> {
  const listening = createServer(onConnection)
  return new Promise((resolve) => void listening.listen(0, '127.0.0.1', () => resolve(listening)))
}

const strangers: [string, string][] = [
  ['a web server', 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'],
  ['a server of SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a MySQL', 'J\0\0\0\n8.0.36\0'],
]

test.each(strangers)('%s is no PostgreSQL, with TLS or without', async (_, words) => {
  const stranger = await listens((socket) => {
    socket.on('error', () => {}).on('data', () => socket.write(words))
  })
  const { port } = stranger.address() as { port: number }
  for (const host of ['127.0.0.1', '127.1'])
    expect(await faultAt({ ...box, host, port })).toMatchObject({
      kind: 'stranger',
      isLasting: true,
      text: expect.stringContaining('Is this its port?'),
    })
  stranger.close()
})

test('a server that is away, or ends the connection without a word, may be back later', async () => {
  const silent = await listens((socket) => void socket.on('error', () => {}).on('data', () => socket.end()))
  const { port } = silent.address() as { port: number }
  expect(await faultAt({ ...box, host: '127.0.0.1', port })).toMatchObject({ kind: 'away', isLasting: false })
  await new Promise((resolve) => silent.close(resolve))
  expect(await faultAt({ ...box, host: '127.0.0.1', port })).toMatchObject({ kind: 'away', isLasting: false })
  expect(await faultAt({ ...box, host: server.folder, port: 1 })).toMatchObject({ kind: 'away', isLasting: false })
})

test('what nobody knows passes, in the words of the server, cleaned', () => {
  const thrown = Object.assign(new Error('over\u001b[31mload'), { code: '99999', severity: 'ERROR' })
  expect(faultOf(thrown, box)).toEqual({ kind: 'other', isLasting: false, text: 'overload' })
})
