// A workspace that two real daemons share over a real PostgreSQL, from the first command to the last.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Actor, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer
const [laptop, box] = [new World(), new World()]
const actors: Actor[] = []
let url: string
let password: string

beforeAll(async () => {
  server = await PostgresServer.start()
  await withClient(server.address, (client) => client.query('CREATE DATABASE relay'))
  url = `postgres://${server.address.user}@/relay?host=${server.folder}`
  password = server.address.password as string
})
afterAll(async () => {
  for (const actor of actors) await actor.leaves()
  await Promise.all([laptop.close(), box.close()])
  server?.end()
})

const asAdmin = {
  env: {
    get PGPASSWORD() {
      return password
    },
  },
}

async function enter(world: World, name: string, token?: string): Promise<Actor> {
  const actor = new Actor(socketConnector(socketPathOf(world.dataDir, 'team')), { name, ...(token ? { token } : {}) })
  actors.push(actor)
  await actor.client.connect()
  return actor
}

const lastSeq = async (world: World) => {
  const status = await world.json<{ seq: number }>(['status', '--project', 'team'])
  return status.seq
}

/** Who came last under this name. */
function present(name: string): Actor {
  return actors.findLast(({ client }) => client.agentName === name) as Actor
}

/** Both machines have all that the cluster has. */
async function settled(): Promise<void> {
  await until(async () => (await lastSeq(laptop)) === (await lastSeq(box)))
}

test('cluster init says in words what is wrong, and puts no password anywhere', async () => {
  expect((await laptop.run(['cluster', 'status'])).stderr).toContain('belongs to no cluster')
  expect((await laptop.run(['cluster', 'init'])).stderr).toContain('agent-relay cluster init postgres://')
  const typed = await laptop.run(['cluster', 'init', 'postgres://postgres:secret@db/relay'])
  expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining('A password in an argument')])
  expect((await laptop.run(['cluster', 'init', 'mysql://db'])).stderr).toContain('no address of a PostgreSQL')
  const nowhere = await laptop.run(['cluster', 'init', 'postgres://postgres@/relay?host=/nowhere'])
  expect([nowhere.code, nowhere.stderr]).toEqual([69, expect.stringContaining('Is the server running?')])
  const wrong = await laptop.run(['cluster', 'init', url], { env: { PGPASSWORD: 'wrong' } })
  expect([wrong.code, wrong.stderr]).toEqual([69, expect.stringContaining('does not accept this password')])
  const none = await laptop.run(['cluster', 'init', url.replace('/relay?', '/none?')], asAdmin)
  expect(none.stderr).toContain('createdb none')
  expect(existsSync(join(laptop.dataDir, 'cluster.json'))).toBe(false)
  const { code, stdout, stderr } = await laptop.launch(['cluster', 'init', url, '--name', 'laptop'], {
    input: `${password}\n`,
  })
  expect([code, stdout]).toEqual([0, expect.stringContaining('this machine is laptop there')])
  expect(stderr).toContain('on the disk of this one server')
  const file = join(laptop.dataDir, 'cluster.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(password)
  expect((await laptop.run(['cluster', 'init'], asAdmin)).stdout).toContain('up to date. This machine is laptop')
  expect((await laptop.run(['cluster', 'init', url.replace('/relay?', '/other?')], asAdmin)).code).toBe(78)
})

test('cluster status says who has it and what that promises', async () => {
  const status = await laptop.json(['cluster', 'status'])
  expect(status).toMatchObject({ machine: 'laptop', isPrimary: true, standbys: [], waitsForDisk: true, workspaces: [] })
  expect(status).toMatchObject({ machines: [{ name: 'laptop' }], connections: { max: 60 } })
  const { stdout } = await laptop.run(['cluster', 'status'])
  expect(stdout).toMatch(/server +primary\n.*standby +none\n/)
  expect(stdout).toContain('With that disk it is lost')
})

test('a machine is let in by one line, once', async () => {
  const { stdout: line, stderr } = await laptop.run(['machine', 'invite', 'box', '--at', server.folder], asAdmin)
  expect(line).toMatch(/^relay:\/\/\S+\n$/)
  expect(line).not.toContain(password)
  expect(stderr).toContain('once, within ten minutes')
  const garbled = [line.replace('#', '&ca=AAAA#'), line.replace('?', '%?')]
  for (const input of ['hello\n', ...garbled])
    expect((await box.launch(['machine', 'join'], { input })).stderr).toContain('no invitation')
  expect((await box.launch(['machine', 'join'], { input: '' })).code).toBe(2)
  expect((await box.launch(['machine', 'join'], { input: line })).stdout).toContain(
    'This machine is box in the cluster',
  )
  expect((await box.launch(['machine', 'join'], { input: line })).code).toBe(77)
  expect((await laptop.run(['machines'])).stdout).toMatch(/box +.*\nlaptop +this one/)
  const third = new World()
  const again = await third.launch(['machine', 'join'], { input: line })
  expect([again.code, again.stderr]).toEqual([77, expect.stringContaining('used before')])
  await third.close()
})

test('a workspace is shared: no number changes, and the other machine opens it', async () => {
  await Promise.all([laptop.serve(), box.serve()])
  await laptop.run(['workspace', 'create', 'team'])
  const [ada, old] = [await enter(laptop, 'ada'), await enter(laptop, 'old')]
  await ada.send('old', 'early')
  const sent = [await ada.send('old', 'before'), await ada.send('#general', 'to all')]
  await old.takes('early', 'before', 'to all')
  await old.comesBack()
  expect((await laptop.run(['workspace', 'prune', 'team', '--older', '0s'])).stdout).toContain('Archived: 1 message ')
  const busy = await laptop.run(['workspace', 'share', 'team'])
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('workspace share team --force')])
  await Promise.all([ada.leaves(), old.leaves()])
  await until(async () => (await laptop.run(['workspace', 'share', 'team'])).code === 0)
  expect((await laptop.run(['workspace', 'share', 'team'])).stderr).toContain('already shared')
  const { workspaces } = await box.json<{ workspaces: object[] }>(['workspace', 'list'])
  expect(workspaces).toContainEqual(expect.objectContaining({ name: 'team', open: false, shared: true }))
  expect((await laptop.run(['workspace', 'list'])).stdout).toMatch(/team +open, shared/)
  const keeping = await laptop.run(['workspace', 'policy', 'set', '--project', 'team', '--keep', '90d'])
  expect([keeping.code, keeping.stderr]).toEqual([1, expect.stringContaining('agent-relay workspace unshare team')])
  const pruned = await laptop.run(['workspace', 'prune', 'team', '--older', '0s'])
  expect([pruned.code, pruned.stderr]).toEqual([1, expect.stringContaining('agent-relay workspace unshare team')])
  expect((await box.run(['workspace', 'open', 'team'])).stderr).toContain('Workspace team is open')
  await settled()
  const again = await enter(laptop, 'ada')
  expect(again.name).toBe('ada')
  const { messages } = await again.call('message.list', { conversation: '#general' })
  expect(messages).toMatchObject([{ id: sent[1]?.id, seq: sent[1]?.seq, n: 1, body: 'to all' }])
  expect((await again.receipts(sent[0]?.id as string)).old?.state).toBe('read')
  const kept = await again.call('message.list', { conversation: '@ada,old' })
  expect(kept.messages).toMatchObject([{ n: 2, body: 'before' }])
})

test('agents on both machines reach each other, wait for each other and see where the other is', async () => {
  const [ada, bob] = [present('ada'), await enter(box, 'bob')]
  const heard = bob.listens()
  await until(async () => (await ada.send('bob', 'are you there?')).away.length === 0)
  await until(() => heard.bodies.includes('are you there?'))
  const reply = ada.asks('bob', 'and now?')
  await until(() => heard.bodies.includes('and now?'))
  await bob.send('ada', 'yes')
  expect((await reply).body).toBe('yes')
  heard.stop()
  const { id } = await bob.send('#general', 'good morning')
  await until(async () => (await ada.call('inbox.take', {})).messages.some(({ body }) => body === 'good morning'))
  await ada.comesBack()
  await until(async () => (await bob.receipts(id)).ada?.state === 'read')
  expect((await bob.receipts(id)).ada).toMatchObject({ machine: 'laptop' })
  const asBob = { env: { RELAY_AGENT_NAME: 'bob', RELAY_AGENT_TOKEN: bob.token } }
  expect((await box.run(['receipts', id, '--project', 'team'], asBob)).stdout).toContain('as laptop has told')
  const { agents } = await box.json<{ agents: object[] }>(['who', '--project', 'team'])
  expect(agents).toContainEqual(expect.objectContaining({ name: 'ada', machine: 'laptop', status: 'active' }))
  expect(agents).toContainEqual(expect.objectContaining({ name: 'bob', machine: 'box' }))
  expect((await laptop.run(['who', '--project', 'team'])).stdout).toMatch(/bob .*on box/)
})

test('of agents on two machines that begin to wait for each other at once, one is told', async () => {
  const pair = [present('ada'), present('bob')] as const
  // Each in a thread of its own, so that neither question answers the other.
  const asks = (i: 0 | 1) =>
    pair[i].asks(pair[1 - i]?.name as string, 'you first', { thread: `t${i}`, timeoutMs: 600_000 })
  const asked = [asks(0), asks(1)]
  const refusals = asked.map((each, i) =>
    each.then(
      () => new Promise<never>(() => {}),
      ({ code }) => ({ i, code }),
    ),
  )
  const { i, code } = await Promise.race(refusals)
  expect(code).toBe('wait.cycle')
  await pair[i]?.send(pair[1 - i]?.name as string, 'then I', { thread: `t${1 - i}` })
  expect((await asked[1 - i])?.body).toBe('then I')
})

test('an agent comes to another machine once its home lets it go', async () => {
  const eve = await enter(box, 'eve')
  const { token } = eve
  await settled()
  await refused(enter(laptop, 'eve', token), 'agent.in-use-elsewhere', /connected on box/)
  await eve.send('ada', 'from the box')
  await eve.leaves()
  await until(() =>
    enter(laptop, 'eve', token).then(
      () => true,
      () => false,
    ),
  )
  const here = actors.at(-1) as Actor
  expect(here.name).toBe('eve')
  await here.send('bob', 'from the laptop')
  await refused(enter(box, 'eve', token), 'agent.in-use-elsewhere', /connected on laptop/)
})

test('where the database does not answer, what is there can be read, and a send says so; it goes on by itself', async () => {
  const ada = present('ada')
  expect((await laptop.run(['send', 'bob', 'hello', '--project', 'team', '--as', 'pat'])).code).toBe(0)
  server.kill()
  // Where the answer of a try that had left is what was lost, it is not known.
  const told = await ada.send('bob', 'lost?').catch(({ code }) => code)
  expect(['cluster.unreachable', 'cluster.unknown']).toContain(told)
  expect((await ada.call('message.list', { conversation: '#general' })).messages.length).toBe(2)
  const listed = await box.json<{ clusterFault?: string }>(['workspace', 'list'])
  expect(listed.clusterFault).toContain('cannot be reached')
  const team = ['--project', 'team', '--as', 'pat']
  const later = (...words: string[]) => laptop.run(['send', 'bob', ...words, '--queue', ...team])
  expect((await later('x', '--wait')).code).toBe(2)
  const refusal = await laptop.run(['send', 'bob', 'now', ...team])
  expect([refusal.code, refusal.stderr]).toEqual([
    75,
    expect.stringMatching(/nothing was stored.*send TO MESSAGE --queue/s),
  ])
  for (const words of ['first', 'second'])
    expect(Object.values(await later(words)).join('|')).toMatch(/q_\S+ {2}Queued on this machine, not sent/)
  expect((await laptop.run(['status', ...team])).stdout).toMatch(/outbox +2 messages not sent yet/)
  expect((await laptop.run(['workspace', 'list'])).stderr).toContain('In team, 2 not sent yet')
  const outbox = await laptop.run(['outbox', ...team])
  expect(outbox.stdout).toMatch(/q_\S+ .* pat +bob +first\n.*second/)
  const [, first = ''] = /(q_\S+) .*first/.exec(outbox.stdout) ?? []
  expect((await laptop.run(['outbox', 'drop', first, ...team])).stdout).toBe(`Dropped, not sent: ${first}\n`)
  await server.resume()
  await until(() =>
    ada.send('bob', 'back').then(
      () => true,
      () => false,
    ),
  )
  await until(async () => (await laptop.run(['outbox', ...team])).stderr.includes('No message waits here'))
  await settled()
  const history = await present('bob').call('message.list', { conversation: '@bob,pat' })
  expect(history.messages.map(({ body }) => body)).toEqual(['hello', 'second'])
})

test('it is taken back whole, and the other machine is told', async () => {
  for (const actor of actors.splice(0)) await actor.leaves()
  const before = await lastSeq(laptop)
  await until(async () => (await laptop.run(['workspace', 'unshare', 'team'])).code === 0)
  expect(await lastSeq(laptop)).toBeGreaterThanOrEqual(before)
  expect((await laptop.run(['workspace', 'unshare', 'team'])).stderr).toContain('lives on this machine alone')
  const bob = await enter(laptop, 'bob')
  expect((await bob.call('message.list', { conversation: '#general' })).messages.length).toBe(1)
  await bob.send('ada', 'alone again')
  const told = () => box.run(['send', 'ada', 'hello', '--as', 'bob', '--project', 'team'])
  await until(async () => (await told()).stderr.includes('no longer shared'))
  expect((await laptop.json(['cluster', 'status'])).workspaces).toEqual([])
  expect((await laptop.run(['workspace', 'prune', 'team', '--older', '0s'])).stdout).toContain('Archived: ')
  expect((await bob.send('ada', 'and again')).away).toEqual(['ada'])
})
