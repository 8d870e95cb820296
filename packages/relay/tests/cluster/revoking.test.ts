// A machine is let in and removed again, by commands, over a real PostgreSQL whose administrator is no superuser: it is thrown out at once, says
// so, can be read, and its agents come to another machine. No typed or generated text is a secret that others can read.

import { readFileSync } from 'node:fs'
import { join as join_ } from 'node:path'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { Actor, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { invitationLine, parseInvitation } from '../../src/cli/commands/cluster/invitation.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { scramVerifierOf } from '../../src/cluster/postgres/machine-roles.ts'
import { inviteMachine } from '../../src/cluster/postgres/machines.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { Presence } from '../../src/cluster/presence.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { type Ran, World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

const password = 'what only the boss knows'
const asBoss = { env: { PGPASSWORD: password } }
const [laptop, box, other] = [new World(), new World(), new World()]
const worlds = [laptop, box, other]
const actors: Actor[] = []
let server: PostgresServer
/** All that any command has printed, but for the lines that are meant to be pasted. */
const printed: string[] = []
const secrets = new Set([password])

beforeAll(async () => {
  // Even a server that writes down all that it is asked must learn no password.
  server = await PostgresServer.start(undefined, { log_statement: "'all'", log_connections: 'on' })
  await withClient(server.address, async (client) => {
    await client.query(`CREATE ROLE boss LOGIN CREATEROLE PASSWORD '${scramVerifierOf(password)}'`)
    await client.query('CREATE DATABASE relay OWNER boss')
  })
})
afterAll(async () => {
  for (const actor of actors) await actor.leaves().catch(() => {})
  await Promise.all(worlds.map((world) => world.close()))
  server?.end()
})

async function enter(world: World, name: string, token?: string): Promise<Actor> {
  const actor = new Actor(socketConnector(socketPathOf(world.dataDir, 'team')), { name, ...(token ? { token } : {}) })
  actors.push(actor)
  await actor.client.connect()
  return actor
}

async function run(world: World, args: string[], where = {}): Promise<Ran> {
  const ran = await world.run(args, where)
  printed.push(ran.stdout, ran.stderr)
  return ran
}

async function join(world: World, line: string): Promise<Ran> {
  const ran = await world.launch(['machine', 'join'], { input: line })
  printed.push(ran.stdout, ran.stderr)
  return ran
}

async function invite(name: string): Promise<string> {
  const { stdout, stderr, code } = await laptop.run(['machine', 'invite', name, '--at', server.folder], asBoss)
  if (code !== 0) throw new Error(stderr)
  secrets.add(parseInvitation(stdout).password)
  return stdout
}

const membership = (world: World) => new ClusterFile(world.dataDir).read() as ClusterMembership

async function sessionsOf(user: string): Promise<number> {
  const text = 'SELECT FROM pg_stat_activity WHERE usename = $1'
  return (await withClient(server.address, (client) => client.query(text, [user]))).rowCount ?? 0
}

test('two machines share a workspace', async () => {
  const url = `postgres://boss@/relay?host=${server.folder}`
  expect((await run(laptop, ['cluster', 'init', url, '--name', 'laptop'], asBoss)).code).toBe(0)
  expect((await join(box, await invite('box'))).code).toBe(0)
  await Promise.all([laptop.serve(), box.serve()])
  await run(laptop, ['workspace', 'create', 'team'])
  expect((await run(laptop, ['workspace', 'share', 'team'])).code).toBe(0)
  expect((await run(box, ['workspace', 'open', 'team'])).code).toBe(0)
  const [ada, bob] = [await enter(laptop, 'ada'), await enter(box, 'bob'), await enter(box, 'cy')]
  await until(() =>
    ada.send('bob', 'before').then(
      () => true,
      () => false,
    ),
  )
  await until(async () => (await bob.call('inbox.peek', {})).messages.length === 1)
  for (const world of [laptop, box]) secrets.add(membership(world).password)
})

test('who administers the database gives the workspace another owner, which alone sets its policy from then on', async () => {
  const policy = ['workspace', 'policy', 'set', '--worktree', 'on', '--project', 'team']
  expect(await run(laptop, ['cluster', 'raise', 'team'], asBoss)).toMatchObject({ code: 2 })
  expect(await run(laptop, ['cluster', 'raise', 'nothing', '--yes'], asBoss)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The cluster has no workspace nothing'),
  })
  const raised = await run(laptop, ['cluster', 'raise', 'team', '--owner', 'box', '--yes'], asBoss)
  expect(raised).toMatchObject({ code: 0, stdout: expect.stringContaining('team belongs to box now') })
  await until(async () => {
    const { code, stderr } = await run(laptop, policy)
    return code !== 0 && stderr.includes('Only the machine that owns the workspace may do this: box')
  })
  expect((await run(laptop, ['cluster', 'raise', 'team', '--yes'], asBoss)).code).toBe(0)
})

test('what another machine may ask of this one is said here, listed, and taken back', async () => {
  const says = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(laptop, ['machine', 'allow', ...args])
    return [code, stdout + stderr]
  }
  const has = (words: string) => expect.stringContaining(words)
  expect(await says()).toEqual([0, 'No other machine may ask anything of this one.\n'])
  expect(await says('box')).toEqual([2, has('approve, release')])
  expect(await says('box', 'everything')).toEqual([2, has('There are: approve, release')])
  expect(await says('desk', 'approve')).toEqual([1, has('There is no machine desk')])
  expect(await says('laptop', 'approve')).toEqual([1, has('is this machine')])
  expect(membership(laptop).allows).toBeUndefined()
  expect(await says('box', 'approve')).toEqual([0, has('box may answer approvals of this machine.')])
  const both = 'box may answer approvals of this machine, and release, pause, resume and interrupt its workers.'
  expect(await says('box', 'release')).toEqual([0, has(both)])
  expect(await says()).toEqual([0, `${both}\n`])
  expect(await laptop.json(['machine', 'allow'])).toEqual({
    allowed: [{ machine: 'box', may: ['approve', 'release'] }],
  })
  expect((await run(laptop, ['machine', 'list'])).stdout).toMatch(/^box .*, may approve, release here$/m)
  // It is the laptop's alone to say.
  expect((await run(box, ['machine', 'allow'])).stderr).toContain('No other machine')
  expect(await says('box', 'approve', '--revoke')).toEqual([
    0,
    has('box may release, pause, resume and interrupt its workers.'),
  ])
  expect(await says('box', '--revoke')).toEqual([0, 'box may ask nothing of this machine.\n'])
  expect(membership(laptop)).toMatchObject({ machine: 'laptop', allows: {}, admin: 'boss' })
})

test('it is not removed without a word, nor is this machine, nor one that there is not', async () => {
  const says = async (...args: string[]) => {
    const { code, stderr } = await run(laptop, ['machine', 'revoke', ...args], asBoss)
    return [code, stderr]
  }
  expect(await says('box')).toEqual([2, expect.stringContaining('agent-relay machine revoke box --yes')])
  expect(await says('laptop', '--yes')).toEqual([1, expect.stringContaining('is this machine')])
  expect(await says('desk', '--yes')).toEqual([1, expect.stringContaining('There is no machine desk')])
  expect(await sessionsOf(membership(box).user)).toBe(2)
})

test('once removed it has no connection left, says so, and what it has can be read', async () => {
  const bob = actors.find(({ name }) => name === 'bob') as Actor
  const revoked = await run(laptop, ['machine', 'revoke', 'box', '--yes'], asBoss)
  expect(revoked).toMatchObject({
    code: 0,
    stdout: 'box is removed. It cannot log in any more, and 2 connections of it ended.\n',
  })
  expect(await sessionsOf(membership(box).user)).toBe(0)
  expect((await run(laptop, ['machine', 'list'])).stdout).toMatch(/^box +removed .*, agent-relay .*, last seen /m)
  const { machines } = await laptop.json<{ machines: object[] }>(['machine', 'list'])
  expect(machines).toContainEqual(expect.objectContaining({ name: 'box', revokedAt: expect.any(String) }))

  await until(async () => (await bob.send('ada', 'still?').catch(({ code }) => code)) === 'machine.revoked')
  await refused(bob.send('ada', 'still?'), 'machine.revoked', /This machine was removed from "team"/)
  const read = async (actor: Actor) => (await actor.call('inbox.peek', {})).messages.map(({ body }) => body)
  expect(await read(bob)).toEqual(['before'])
  // Who is known comes in to read, also after the daemon has started again.
  for (const again of [async () => {}, () => restart(box)]) {
    await again()
    await until(() =>
      enter(box, 'bob', bob.token)
        .then(read)
        .then((bodies) => bodies.length === 1)
        .catch(() => false),
    )
    await refused((actors.at(-1) as Actor).send('ada', 'again?'), 'machine.revoked', /can be read/)
  }
  const listed = await run(box, ['machine', 'list'])
  expect(listed).toMatchObject({ code: 77, stderr: expect.stringContaining('This machine, box, was removed there') })
  expect((await box.json<{ clusterFault?: string }>(['workspace', 'list'])).clusterFault).toContain('was removed')
})

test('its agents come to another machine, with their tokens or as names of its owner', async () => {
  const [bob, cy] = ['bob', 'cy'].map((name) => actors.find((actor) => actor.name === name)) as [Actor, Actor]
  await until(() =>
    enter(laptop, 'cy', cy.token)
      .then(({ name }) => name === 'cy')
      .catch(() => false),
  )
  const here = await enter(laptop, 'bob')
  expect([here.name, here.token === bob.token]).toEqual(['bob', false])
  expect((await here.call('inbox.take', {})).messages.map(({ body }) => body)).toEqual(['before'])
  await here.send('cy', 'moved')
  const { agents } = await laptop.json<{ agents: object[] }>(['who', '--project', 'team'])
  for (const name of ['bob', 'cy']) expect(agents).toContainEqual(expect.objectContaining({ name, machine: 'laptop' }))
})

test('an invitation that was used, is too old, was withdrawn or is for another name lets nobody in', async () => {
  const says = async (world: World, line: string) => {
    const { code, stderr } = await join(world, line)
    return [code, stderr]
  }
  const over = [77, expect.stringContaining('was used before, has been replaced by a newer one, or is older')]
  const line = await invite('box')
  const asOther = [78, expect.stringContaining('as box. It can join again under that name')]
  expect(await says(box, await invite('other'))).toEqual(asOther)
  // The name is the role's, and the role has the password.
  const named = { ...parseInvitation(line), user: membership(laptop).user }
  expect(await says(other, invitationLine(named))).toEqual(over)
  const { database, host, port } = membership(laptop)
  const where = { host, port, database }
  const late = await withClient({ ...where, user: 'boss', password }, (client) =>
    inviteMachine(client, 'late', { now: 0 }),
  )
  secrets.add(late.password)
  expect(await says(other, invitationLine({ ...where, ...late }))).toEqual(over)
  const withdrawn = await invite('withdrawn')
  expect((await run(laptop, ['machine', 'revoke', 'withdrawn', '--yes'], asBoss)).stdout).toContain(
    'had not joined yet',
  )
  expect(await says(other, withdrawn)).toEqual(over)
  // The machine that was removed is let in again, under its name, and goes on where it was.
  expect((await join(box, line)).stdout).toContain('This machine is box in the cluster')
  expect(await says(other, line)).toEqual(over)
  secrets.add(membership(box).password)
  await restart(box)
  const dee = await enter(box, 'dee')
  await until(async () => (await dee.send('ada', 'back').catch(() => undefined)) !== undefined)
  expect((await run(laptop, ['machine', 'list'])).stdout).toMatch(/^box +agent-relay/m)
})

test('a daemon that was removed asks the database no more', async () => {
  expect((await join(other, await invite('other'))).code).toBe(0)
  const clock = new PlayClock()
  const cluster = new PostgresCluster(membership(other))
  const told: string[] = []
  const presence = new Presence(cluster, clock, {
    onBeat: () => told.push('beat'),
    onRemoved: () => told.push('removed'),
  })
  presence.enter('w_none')
  const passes = async (isDone: () => boolean) => {
    await until(async () => {
      await clock.passes(1_000)
      return isDone()
    })
  }
  await passes(() => told.includes('beat'))
  expect((await run(laptop, ['machine', 'revoke', 'other', '--yes'], asBoss)).code).toBe(0)
  await passes(() => told.includes('removed'))
  const tries = () => readFileSync(join_(server.folder, 'log'), 'utf8').split(membership(other).user).length
  const before = [tries(), told.length]
  await clock.passes(3_600_000)
  await cluster.close()
  expect([tries(), told.length]).toEqual(before)
})

test('no secret is in an argument, an error, a log or what the server was asked', async () => {
  const line = await invite('seen')
  const child = laptop.start(['machine', 'join'])
  const args = readFileSync(`/proc/${child.child.pid}/cmdline`, 'utf8').split('\0')
  child.child.stdin?.end(line)
  await child.ended
  expect(args.slice(-3)).toEqual(['machine', 'join', ''])
  const typed = line.replace('relay://', 'postgres://').replace('#', '?password=')
  await run(laptop, ['cluster', 'init', typed])
  await run(laptop, ['machine', 'join', 'x'])
  const log = readFileSync(join_(server.folder, 'log'), 'utf8')
  expect(log).toContain('CREATE ROLE')
  expect(log).toContain('ALTER ROLE')
  const all = [...printed, log].join('\n')
  expect(secrets.size).toBeGreaterThan(8)
  for (const secret of secrets) expect(all.includes(secret)).toBe(false)
})

async function restart(world: World): Promise<void> {
  await run(world, ['daemon', 'stop'])
  await world.serve()
  await run(world, ['workspace', 'open', 'team'])
}
