// Two machines that share a workspace: a question on one is answered on the other; and after a failover to a standby that lagged, both notice that
// the database has lost acknowledged entries, and `cluster reconcile` brings back those that they have. Real daemons, a real standby.

import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectDir } from '@agent-relay/sdk/internal/discover'
import type { Fact } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Actor, bodiesOf, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { Store } from '../../src/store/store.ts'
import { Machine } from './machine.ts'
import { PostgresServer } from './postgres-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'relay-reconcile-'))
/** Where the machines find the server: at first the one, later the other. */
const host = join(folder, 'server')
let server: PostgresServer
let copy: PostgresServer
let laptop: Machine
let box: Machine
const workspace = 'team'
const actors: Actor[] = []

beforeAll(async () => {
  server = await PostgresServer.start()
  copy = await server.standby(false)
  symlinkSync(server.folder, host)
  const world = await server.cluster('relay')
  laptop = await Machine.start('laptop', world, { host, onTrouble: () => {} })
  box = await Machine.start('box', world, { host, onTrouble: () => {} })
  await laptop.open(workspace)
  await laptop.control('workspace.share', { workspace })
  await box.control('workspace.open', { workspace, mustExist: true })
})
afterAll(async () => {
  for (const actor of actors) await actor.leaves()
  await laptop?.close()
  await box?.close()
  server?.end()
  copy?.end()
  rmSync(folder, { recursive: true, force: true })
})

async function enter(machine: Machine, name: string, token?: string): Promise<Actor> {
  const actor = new Actor(machine.connector(workspace), { name, token })
  actors.push(actor)
  await actor.client.connect()
  return actor
}

const lastSeq = async (machine: Machine) => (await machine.open(workspace)).workspace.store.journal.lastSeq

const settled = () => until(async () => (await lastSeq(laptop)) === (await lastSeq(box)))

async function lastOnCopy(): Promise<number> {
  const text = 'SELECT max(seq)::int AS seq FROM relay.journal'
  const asked = withClient({ ...copy.address, database: 'relay' }, (client) => client.query(text))
  return (await asked.catch(() => undefined))?.rows[0].seq
}

const said = async (actor: Actor) => {
  const { messages } = await actor.call('message.list', { conversation: '@ada,bob' })
  return messages.map(({ id, n, body }) => ({ id, n, body }))
}

test('an approval is seen on another machine, which does not end it when it starts, and answered on its own alone', async () => {
  const [ada, fixer] = [await enter(laptop, 'ada'), await enter(box, 'fixer')]
  const { store, engine } = (await laptop.open(workspace)).workspace
  const choices = [{ id: 'yes', label: 'Yes', kind: 'allow' as const }]
  const asked = { key: 'k', vendor: 'claude', tool: 'Bash', input: 'npm test', choices }
  const answered = fixer.call('approval.ask', asked)
  answered.catch(() => {})
  await until(() => store.view.approvals.of('fixer').length === 1)
  const blocked = async () => (await ada.call('agent.list', {})).agents.find(({ name }) => name === 'fixer')?.blocked
  await until(async () => (await blocked())?.since)
  await (await laptop.open(workspace)).workspace.endLeftovers()
  const [row] = store.view.approvals.of('fixer')
  const { id, digest } = row as { id: string; digest: string }
  const standing = { door: 'owner', rank: 'holder', kind: 'program', hasKey: true } as const
  // As a person answers at a terminal.
  const input = { id, digest, choice: 'yes', surface: 'terminal' as const, standing }
  const answer = { rule: 'approval.answer', input, by: 'agent-relay', cause: 'answer' } as const
  expect(await engine.submit(answer)).toMatchObject({
    refusal: { code: 'approval.elsewhere', message: expect.stringContaining('belongs to a program on box') },
  })
  const there = (await box.open(workspace)).workspace.engine
  expect(await there.submit(answer)).toMatchObject({ outcome: { how: 'answered' } })
  expect(await answered).toMatchObject({ how: 'answered', kind: 'allow' })
  await until(async () => (await blocked()) === undefined)
  await ada.leaves()
  await fixer.leaves()
})

test('what the database has lost is noticed everywhere, and brought back once', async () => {
  const [ada, bob] = [await enter(laptop, 'ada'), await enter(box, 'bob')]
  await settled()
  const kept = await ada.send('bob', 'kept')
  await settled()
  await bob.takes('kept')
  await bob.comesBack()
  await settled()
  await until(async () => (await lastOnCopy()) === (await lastSeq(laptop)))
  copy.lag()
  const sent = [await ada.send('bob', 'lost 1'), await bob.send('ada', 'lost 2')]
  const late = await enter(box, 'late')
  sent.push(await late.send('bob', 'lost 3'))
  await until(async () => (await bob.call('inbox.peek', {})).messages.length === 2)
  await bob.takes('lost 1', 'lost 3')
  await bob.comesBack()
  const answered = await ada.send('bob', 'lost 4', { replyTo: sent[1]?.id as string })
  await settled()

  server.kill()
  await copy.promote()
  rmSync(host)
  symlinkSync(copy.folder, host)
  for (const [actor, to] of [
    [ada, 'bob'],
    [bob, 'ada'],
  ] as const)
    await until(async () => {
      const refusal = await actor.send(to, 'now?').catch(({ code }) => code)
      if (refusal === 'cluster.diverged') return true
      // Until the other server answers.
      expect(['cluster.unreachable', 'cluster.unknown']).toContain(refusal)
      return false
    })
  await refused(ada.send('bob', 'now?'), 'cluster.diverged', /agent-relay cluster reconcile team/)
  const before = await said(ada)
  expect(before.map(({ body }) => body)).toEqual(['kept', 'lost 1', 'lost 2', 'lost 4'])

  await refused(laptop.control('workspace.reconcile', { workspace }), 'workspace.busy', /ada/)
  const [first, second] = [
    await laptop.control('workspace.reconcile', { workspace, force: true }),
    await box.control('workspace.reconcile', { workspace, force: true }),
  ]
  expect(first).toMatchObject({ restored: 2, left: 0 })
  expect(first.others).toBeGreaterThanOrEqual(3)
  expect(second).toMatchObject({ others: 0, left: 0 })
  for (const { kept: former } of [first, second]) expect(existsSync(former as string)).toBe(true)
  const whole = { lost: 0, restored: 0, others: 0, left: 0 }
  const again = await laptop.control('workspace.reconcile', { workspace, force: true })
  expect(again).toMatchObject(whole)
  expect(again.kept).toBeUndefined()

  const [ada2, bob2] = [await enter(laptop, 'ada', ada.token), await enter(box, 'bob', bob.token)]
  const late2 = await enter(box, 'late', late.token)
  await settled()
  const after = await said(ada2)
  expect(after).toEqual(await said(bob2))
  expect(after.map(({ n }) => n)).toEqual([1, 2, 3, 4])
  expect(new Set(after.map(({ id }) => id))).toEqual(new Set([kept.id, sent[0]?.id, sent[1]?.id, answered.id]))
  // What was read before is not shown again, what waited still waits.
  expect(bodiesOf((await bob2.call('inbox.take', {})).messages)).toEqual(['lost 4'])
  expect(bodiesOf((await ada2.call('inbox.take', {})).messages)).toEqual(['lost 2'])
  // The same call, asked again, gets its answer of then.
  expect((await late2.send('bob', 'and on')).to).toBe('bob')
  await ada2.send('bob', 'back')
  await until(async () => (await bob2.call('inbox.peek', {})).messages.some(({ body }) => body === 'back'))
})

test('what a restored backup says of machines, of another cluster or made up, locks nobody out once it is shared', async () => {
  const name = 'restored'
  const path = join(projectDir(laptop.dataDir, name), 'relay.db')
  const say = async (facts: Fact[]) => {
    await laptop.open(name)
    await laptop.stop()
    const store = new Store(path)
    store.transact(() => store.append({ at: 1, by: 'agent-relay', cause: 'c', rule: 'x', outcome: {}, facts }))
    store.close()
    await laptop.start()
  }
  await say(['laptop', 'box'].map((machine) => ({ type: 'machine.revoked', machine })))
  await laptop.control('workspace.share', { workspace: name })
  await box.control('workspace.open', { workspace: name, mustExist: true })
  for (const machine of [laptop, box]) {
    const actor = new Actor(machine.connector(name), { name: `${machine.name}-agent` })
    actors.push(actor)
    await actor.client.connect()
    expect((await actor.send('#general', 'here')).id).toBeDefined()
  }
})
