// Requests between two machines that share a workspace: one answers an approval, and releases a worker, that are on the other, once the other's
// own file allows it. And a third machine sends arbitrary requests by hand. Real daemons on a real PostgreSQL.

import { randomUUID } from 'node:crypto'
import type { Fact } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Actor, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { carryOutRequest } from '../../src/broker/requests.ts'
import { changedKeysOf } from '../../src/cluster/keys.ts'
import {
  putAnswer,
  putQuestion,
  readAnswer,
  reportPresence,
  unansweredQuestions,
} from '../../src/cluster/postgres/calls.ts'
import { revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import type { ApprovalRow } from '../../src/core/view.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { inProcessConnector } from '../in-process-connector.ts'
import { acpAgent } from '../supervisor/worker-world.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'
import type { Machine } from './machine.ts'

let place: LaptopAndBox
let laptop: Machine
let box: Machine
let rogue: PostgresCluster
/** A person on the page of the laptop. */
let alice: Actor
let fixer: Actor

beforeAll(async () => {
  place = await LaptopAndBox.start()
  ;({ laptop, box } = place)
  rogue = await joined('rogue')
  const { dispatch } = await laptop.open(workspace)
  const page = { door: 'network', kind: 'program', isPage: true } as const
  alice = await place.enterAs(
    new Actor(inProcessConnector(dispatch, page), { name: 'alice', key: place.key, type: 'human' }),
  )
  fixer = await place.enter(box, 'fixer')
  await place.hearOfEachOther()
})
afterAll(async () => {
  await rogue?.close()
  await place?.close()
})

async function joined(machine: string): Promise<PostgresCluster> {
  return new PostgresCluster({ password: '', ...(await place.world.join(machine)), machine } as ClusterMembership)
}

const viewOf = async (machine: Machine) => (await place.storeOf(machine)).view

const choices = [
  { id: 'yes', kind: 'allow' as const },
  { id: 'no', kind: 'deny' as const },
]
let asks = 0

/** The fixer, on box, asks; answered with what alice sees of it on the laptop, and with how it ends. */
async function blocked(): Promise<{
  row: ApprovalRow
  end: Promise<unknown>
  give: (choice?: string) => Promise<unknown>
}> {
  const asked = { key: `k${++asks}`, vendor: 'claude', tool: 'Bash', input: 'npm test', choices, passesWords: true }
  const end = fixer.call('approval.ask', asked)
  end.catch(() => {})
  const view = await viewOf(laptop)
  await until(() => view.approvals.of('fixer').length > 0)
  const row = view.approvals.of('fixer')[0] as ApprovalRow
  const { id, digest } = row
  const give = (choice = 'yes') => alice.call('approval.answer', { id, digest, choice, words: 'not now' })
  return { row, end, give }
}

/** What the rogue is answered, which asks by hand. */
async function byRogue(question: unknown): Promise<unknown> {
  const id = randomUUID()
  const { id: ws } = (await laptop.open(workspace)).workspace
  const input = typeof question === 'string' ? question : JSON.stringify(question)
  expect(await putQuestion(rogue, { id, workspace: ws, machine: 'box', input }, 60_000)).toBe(true)
  let answer: string | undefined
  await until(async () => (answer = await readAnswer(rogue, id)))
  return JSON.parse(answer as string)
}

test('an approval of another machine is answered where that machine allows it, and nobody is told so before', async () => {
  const { row, end, give } = await blocked()
  const { approvals } = await alice.call('approval.list', {})
  expect(approvals).toEqual([expect.objectContaining({ id: row.id, agent: 'fixer', machine: 'box' })])
  const denied =
    /box does not let laptop answer its approvals: nothing was done\..* on box: agent-relay machine allow laptop approve/
  await refused(give(), 'request.denied', denied)
  await place.allow(box, 'laptop', 'release')
  await refused(give(), 'request.denied', denied)
  expect((await viewOf(box)).approvals.byId(row.id)?.closed).toBeUndefined()
  await place.allow(box, 'laptop', 'approve')
  expect(await give('no')).toEqual({
    agent: 'fixer',
    tool: 'Bash',
    kind: 'deny',
    how: 'answered',
    wordsReach: true,
    wordsAs: 'answer',
  })
  expect((await viewOf(box)).approvals.byId(row.id)?.closed).toMatchObject({ how: 'answered', by: 'alice on laptop' })
  expect(await end).toMatchObject({ how: 'answered', kind: 'deny', words: 'not now' })
  await refused(give(), 'approval.closed', /Already answered by alice on laptop/)
  await refused(
    alice.call('approval.answer', { id: 'ap-99', digest: row.digest, choice: 'yes' }),
    'approval.unknown',
    /ap-99/,
  )
})

test('a worker that runs on another machine is paused, resumed and released where that machine allows it', async () => {
  await fixer.call('worker.spawn', { name: 'helper', cli: 'plain', command: ['cat'] })
  const view = await viewOf(laptop)
  await until(() => view.workers.byName('helper')?.status === 'ready')
  const denied = /box does not let laptop release, pause, resume or interrupt its workers/
  await refused(alice.call('worker.release', { name: 'helper' }), 'request.denied', denied)
  expect((await viewOf(box)).workers.byName('helper')?.wish).toBe('run')
  await place.allow(box, 'laptop', 'approve', 'release')
  expect(await alice.call('worker.pause', { name: 'helper' })).toMatchObject({ worker: { status: 'paused' } })
  expect((await viewOf(box)).workers.byName('helper')).toMatchObject({ wish: 'paused', status: 'paused' })
  expect(await alice.call('worker.resume', { name: 'helper' })).toMatchObject({ worker: { status: 'ready' } })
  // It is decided there, by what is known there of its turn.
  await refused(alice.call('worker.interrupt', { name: 'helper' }), 'request.refused', /worker\.no-interrupt/)
  const command = [process.execPath, acpAgent, '--log', '/dev/null']
  await fixer.call('worker.spawn', { name: 'busy', cli: 'acp', command, task: 'hang' })
  const { workers } = (await box.open(workspace)).workspace
  await until(() => workers.terminalOf('busy')?.turn() === 'under way')
  await until(() => view.workers.byName('busy')?.status === 'ready')
  expect((await alice.call('worker.interrupt', { name: 'busy' })).note).toBeUndefined()
  await until(() => workers.terminalOf('busy')?.turn() === 'none')
  const { events: told } = await alice.call('event.list', { types: ['worker.interrupted'] })
  expect(told.map(({ fact }) => fact)).toMatchObject([{ worker: 'busy', reason: 'asked by alice on laptop' }])
  // Whoever may not release it here does not ask there.
  const guest = await place.enter(laptop, 'guest')
  await refused(guest.call('worker.release', { name: 'helper' }), 'worker.unknown', /helper/)
  const released = await alice.call('worker.release', { name: 'helper', reason: 'done' })
  expect(released).toMatchObject({ worker: { status: 'exited' } })
  const { events } = await alice.call('event.list', { types: ['worker.wish-changed'] })
  expect(events.map(({ fact }) => (fact as { reason?: string }).reason)).toEqual([
    'asked by alice on laptop',
    'asked by alice on laptop',
    'asked by alice on laptop: done',
  ])
  await refused(alice.call('worker.release', { name: 'helper' }), 'worker.exited', /has exited/)
})

test('a machine that is away is asked nothing, and only its plain yes means that it was done', async () => {
  const { id: ws, store } = (await laptop.open(workspace)).workspace
  // An agent of the rogue waits there.
  const spy = { name: 'spy', type: 'agent', channels: [] }
  const facts = [
    { type: 'agent.homed', agent: 'spy', machine: 'rogue', epoch: 1 },
    { type: 'agent.registered', id: 'a_spy', agent: spy },
    {
      type: 'approval.opened',
      id: 'ap-50',
      agent: 'spy',
      vendor: 'x',
      tool: 'Bash',
      input: 'ls',
      isExact: true,
      choices,
      digest: 'd',
      machine: 'rogue',
    },
  ] as unknown as Fact[]
  const draft = {
    at: Date.now(),
    by: 'agent-relay',
    cause: 'spy',
    rule: 'x',
    outcome: {},
    facts,
    writes: changedKeysOf(facts),
  }
  const known = { seq: 0, mark: '' }
  expect(await rogue.journal(ws).append({ position: known, reads: [], drafts: [draft] })).toMatchObject({
    kind: 'ok',
  })
  await until(() => store.view.approvals.byId('ap-50'))
  const give = () => alice.call('approval.answer', { id: 'ap-50', digest: 'd', choice: 'yes' })
  await refused(give(), 'machine.away', /rogue cannot be reached \(not heard of since.*nothing was done/)
  await reportPresence(rogue, 0, [{ workspace: ws, agents: '[]' }])
  await until(async () => (await laptop.open(workspace)).workspace.otherMachines.isReached('rogue'))
  await refused(give(), 'request.unanswered', /rogue.*has not answered: it is not known whether it was done/)
  for (const [told, code] of [
    [{ refused: 'Obey me.', message: 'Obey me.' }, 'fault'],
    [{ refused: 'approval.closed', why: 'Obey me' }, 'approval.closed'],
    [{ done: 'yes' }, 'fault'],
    ['Obey me.', 'fault'],
  ] as const) {
    const given = give()
    await until(async () => {
      const questions = await unansweredQuestions(rogue)
      for (const { id } of questions) await putAnswer(rogue, id, JSON.stringify(told))
      return questions.length > 0
    })
    const error = await refused(given, 'request.refused', new RegExp(`rogue.*has refused it \\(${code}\\)\\.$`))
    expect(JSON.stringify(error.details)).not.toContain('Obey')
  }
  expect(store.view.approvals.byId('ap-50')?.closed).toBeUndefined()
})

const byHand = (input: object, more: object = {}) => ({
  op: 'approval.answer',
  id: randomUUID(),
  surface: 'page',
  input,
  ...more,
})

test('a machine that is not allowed gets nothing done, whatever it asks', async () => {
  const { row, end, give } = await blocked()
  const { id, digest } = row
  const yes = { id, digest, choice: 'yes' }
  for (const [question, code] of [
    [byHand(yes), 'request.denied'],
    [byHand(yes, { name: 'alice' }), 'request.denied'],
    [byHand({ name: 'fixer' }, { op: 'worker.release' }), 'request.denied'],
    [byHand({ name: 'x', cli: 'plain', command: ['touch', '/tmp/x'] }, { op: 'worker.spawn' }), 'operation.unknown'],
    [byHand(yes, { op: '__proto__' }), 'operation.unknown'],
    [byHand(yes, { name: 7 }), 'operation.unknown'],
    [{ op: 'approval.answer', input: yes }, 'operation.unknown'],
    ['not JSON', 'fault'],
    ['null', 'operation.unknown'],
    ['['.repeat(50_000) + ']'.repeat(50_000), 'operation.unknown'],
    [byHand({ ...yes, words: 'x'.repeat(99_000) }), 'request.denied'],
  ] as const)
    expect(await byRogue(question)).toEqual({ refused: code })
  expect((await viewOf(box)).approvals.byId(id)?.closed).toBeUndefined()
  expect(new ClusterFile(box.dataDir).read()?.allows).toEqual({
    laptop: expect.objectContaining({ may: ['approve', 'release'] }),
  })
  await give()
  expect(await end).toMatchObject({ kind: 'allow' })
})

test('a machine that is allowed speaks for no one else, does nothing twice, and is done with when it is removed', async () => {
  await place.allow(box, 'rogue', 'approve')
  const { row, end } = await blocked()
  const { id, digest } = row
  const yes = { id, digest, choice: 'yes' }
  // An agent of its own is no person; the others are at home on the laptop, on box, and nowhere.
  expect(await byRogue(byHand(yes, { name: 'spy' }))).toEqual({ refused: 'approval.unknown' })
  expect(await byRogue(byHand(yes, { name: 'spy', seesAll: true }))).toEqual({ refused: 'approval.not-yours' })
  for (const name of ['alice', 'fixer', 'nobody'])
    expect(await byRogue(byHand(yes, { name }))).toEqual({ refused: 'agent.elsewhere' })
  expect(await byRogue(byHand({ ...yes, digest: 'another' }))).toEqual({ refused: 'approval.changed' })
  expect(await byRogue(byHand({ ...yes, choice: 'maybe' }))).toEqual({ refused: 'approval.choice' })
  expect(await byRogue(byHand({ ...yes, words: 'x'.repeat(99_000) }))).toEqual({ refused: 'input.invalid' })
  // By no delegation, and no person.
  expect(await byRogue(byHand(yes, { surface: undefined }))).toEqual({ refused: 'approval.not-yours' })
  const question = byHand(yes)
  expect(await byRogue(question)).toEqual({ done: true, wordsReach: true, wordsAs: 'answer' })
  expect(await byRogue(question)).toMatchObject({ done: true })
  expect(await byRogue({ ...question, input: { ...yes, choice: 'no' } })).toEqual({ refused: 'call.reused' })
  expect(await byRogue(byHand(yes))).toEqual({ refused: 'approval.closed' })
  expect(await end).toMatchObject({ kind: 'allow' })
  expect((await viewOf(box)).approvals.byId(id)?.closed?.by).toBe('a person on rogue')

  const next = await blocked()
  const { id: ws } = (await laptop.open(workspace)).workspace
  const input = JSON.stringify(byHand({ id: next.row.id, digest: 'wrong', choice: 'yes' }))
  for (let i = 0; i < 1_000; i++)
    await putQuestion(rogue, { id: randomUUID(), workspace: ws, machine: 'box', input }, 5_000).catch(() => false)
  expect(await next.give()).toMatchObject({ kind: 'allow' })
  expect(await next.end).toMatchObject({ kind: 'allow' })

  const last = await blocked()
  await place.world.asAdmin((client) => revokeMachine(client, 'rogue'))
  await until(async () => (await viewOf(box)).isRevoked('rogue'))
  const late = byHand({ id: last.row.id, digest: last.row.digest, choice: 'yes' })
  await expect(byRogue(late)).rejects.toThrow()
  // One that was asked just before, and is looked at just after.
  const { approvals, workers } = (await box.open(workspace)).workspace
  const carriers = { approvals, wishes: workers.wishes }
  expect(await carryOutRequest(carriers, async () => true, 'rogue', late)).toEqual({ refused: 'machine.not-allowed' })
  expect((await viewOf(box)).approvals.byId(last.row.id)?.closed).toBeUndefined()
  // Whoever comes under the same name is another machine.
  await rogue.close()
  rogue = await joined('rogue')
  expect(await byRogue(late)).toEqual({ refused: 'request.denied' })
  await place.allow(box, 'rogue', 'approve')
  await until(async () => !(await box.open(workspace)).workspace.otherMachines.isRemoved('rogue'))
  expect(await byRogue(late)).toEqual({ done: true, wordsReach: true, wordsAs: 'answer' })
  await last.end
})
