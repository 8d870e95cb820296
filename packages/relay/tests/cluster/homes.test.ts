// Homes: each agent's mail is handed out on one machine, the others are told, and a machine that speaks for another's agent is found out.

import { type Fact, makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, expect, test } from 'vitest'
import { dump } from '../../../../test/sim/audit.ts'
import { until } from '../../../../test/until.ts'
import type { Dispatch } from '../../src/broker/dispatch.ts'
import type { CommandReply } from '../../src/broker/engine.ts'
import { Events } from '../../src/broker/events.ts'
import { LongReads, ReadTimeBudget } from '../../src/broker/long-reads.ts'
import { Sessions } from '../../src/broker/sessions/sessions.ts'
import { daemonSessionStanding } from '../../src/broker/sessions/standing.ts'
import { ClusterUnreachable } from '../../src/cluster/cluster-journal.ts'
import { changedKeysOf } from '../../src/cluster/keys.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { defaultPolicy, sharingBeginFacts } from '../../src/core/workspaces.ts'
import { ownAgentCheck } from '../../src/daemon/last-words.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { loud } from '../broker/loud.ts'
import { FakeCluster, soundWire } from './fake-cluster.ts'
import { endAll, SharedDaemon, said, team } from './shared-daemon.ts'

afterEach(endAll)

const outcome = (reply: CommandReply): Record<string, unknown> => {
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  return reply.outcome
}

/** ada, on one machine, has sent bob a message, who is on the other. */
async function sent(): Promise<
  Awaited<ReturnType<typeof team>> & { a: SharedDaemon; b: SharedDaemon; message: string }
> {
  const world = await team('desk', 'laptop')
  const [a, b] = world.daemons as [SharedDaemon, SharedDaemon]
  const message = outcome(await a.give('message.send', 'ada', { to: 'bob', body: 'hello' })).id as string
  await world.settled()
  return { ...world, a, b, message }
}

const receiptOf = ({ store }: SharedDaemon, id: string) => {
  const message = store.view.message(id)
  return message && store.view.receipt('bob', message)
}

test('mail is handed out at home without an entry in the shared journal, and not elsewhere', async () => {
  const { cluster, a, b, message } = await sent()
  const head = cluster.entries.length
  expect(outcome(await b.give('inbox.take', 'bob', { limit: 5 })).messages).toEqual([message])
  expect(said(await b.give('inbox.read', 'bob', { messages: [message] }))).toBe(head)
  expect(cluster.entries.length).toBe(head)
  const elsewhere = await a.give('inbox.take', 'bob', { limit: 5 })
  expect(elsewhere).toMatchObject({ refusal: { message: expect.stringContaining('"bob" has its home on laptop') } })
  expect(said(await a.give('message.send', 'bob', { to: 'ada', body: 'not me' }))).toBe('agent.elsewhere')
})

test('a run in the name of an agent of another machine is refused, and the refusal names that agent', async () => {
  const { a } = await sent()
  const run = { contract: 'Write it.', harness: 'external', agent: 'ada', parent: 'bob' } as const
  expect(await a.give('run.start', 'ada', run)).toMatchObject({
    refusal: { code: 'agent.elsewhere', message: expect.stringContaining('"bob" has its home on laptop') },
  })
})

test('what was done with it is known elsewhere about a second later, and shown as deliveries', async () => {
  const { a, b, message } = await sent()
  await b.give('inbox.take', 'bob', { limit: 5 })
  await until(() => receiptOf(a, message)?.offeredAt !== undefined)
  await b.give('inbox.read', 'bob', { messages: [message] })
  await until(() => receiptOf(a, message)?.readAt !== undefined)
  expect(receiptOf(a, message)).toEqual({ ...receiptOf(b, message), session: undefined, until: undefined })
  expect([...a.store.view.inbox.unread('bob', {})]).toEqual([])
  const events = new Events({ store: a.store, hub: a.hub, reads: new LongReads() })
  const ada = { agent: 'ada', standing: { rank: 'agent' as const } }
  for (const types of [undefined, ['delivery.*']]) {
    const page = runAllSteps(events.list(ada, { since: 0, limit: 100, types }, new ReadTimeBudget()))
    const deliveries = page.events.filter(({ type }) => type.startsWith('deliver'))
    expect(deliveries.map(({ type, fact }) => [type, fact])).toEqual([
      ['delivery.offered', { message, agent: 'bob', route: 'take' }],
      ['delivery.read', { message, agent: 'bob' }],
    ])
  }
})

test('the same command at home is answered as it was', async () => {
  const { b, message } = await sent()
  const take = () => b.give('inbox.take', 'bob', { limit: 5 }, 'the same')
  expect(outcome(await take()).messages).toEqual([message])
  expect(await take()).toMatchObject({ repeat: true, outcome: { messages: [message] } })
  const another = await b.give('inbox.take', 'bob', { limit: 4 }, 'the same')
  expect(said(another)).toBe('call.reused')
})

test('a home lets its agent go with all that it knows, and what the agent asks meanwhile is answered at the next', async () => {
  const { a, b, message, settled } = await sent()
  await b.give('inbox.take', 'bob', { limit: 5 })
  await b.give('inbox.read', 'bob', { messages: [message] })
  const moved = b.engine.release('bob', 'desk')
  const asked = b.give('inbox.take', 'bob', { limit: 5 })
  expect(outcome(await moved)).toEqual({ agent: 'bob', machine: 'desk' })
  expect(said(await asked)).toBe('agent.elsewhere')
  await settled()
  expect(a.store.view.home('bob')).toEqual({ machine: 'desk', epoch: 2 })
  expect(outcome(await a.give('inbox.take', 'bob', { limit: 5 })).messages).toEqual([])
  expect('refusal' in (await a.give('message.send', 'bob', { to: 'ada', body: 'from here' }))).toBe(false)
  expect(said(await b.engine.release('bob', 'laptop'))).toBe('agent.elsewhere')
})

test('an agent that has moved is not sent the last words of a turn by its former machine', async () => {
  const { a, b, settled } = await sent()
  const isOwnAt = (machine: string, { store }: SharedDaemon) => {
    const sessions = new Sessions(systemClock, makeIds(), loud.onTrouble, machine)
    sessions.bind(sessions.open(daemonSessionStanding(machine)), 'bob')
    return ownAgentCheck({ workspace: { name: 'team', sessions, store } } as Dispatch, () => [])('bob')
  }
  expect([isOwnAt('desk', a), isOwnAt('laptop', b)]).toEqual([false, true])
  await b.engine.release('bob', 'desk')
  await settled()
  expect([isOwnAt('desk', a), isOwnAt('laptop', b)]).toEqual([true, false])
})

test('a take-over says so; what the former home tells late is taken for read', async () => {
  const { cluster, a, message, settled } = await sent()
  let isCut = false
  const cut = new SharedDaemon(cluster, 'train', {
    ...soundWire,
    there: async () => {
      if (isCut) throw new ClusterUnreachable('no way', true)
    },
  })
  await until(() => cut.store.journal.lastSeq === cluster.entries.length)
  await cut.register('cy')
  await settled()
  const id = outcome(await a.give('message.send', 'ada', { to: 'cy', body: 'x' })).id as string
  await until(() => cut.store.view.message(id) !== undefined)
  isCut = true
  // Offline it can still read what has arrived.
  expect(outcome(await cut.give('inbox.take', 'cy', { limit: 5 })).messages).toEqual([id])
  await cut.give('inbox.read', 'cy', { messages: [id] })
  expect(said(await cut.give('inbox.read', 'cy', { messages: ['m_never'] }))).toBe('cluster.unreachable')
  const input = { agent: 'cy', machine: 'desk' }
  expect(said(await a.give('agent.home', 'agent-relay', input))).toBe('agent.elsewhere')
  await a.give('agent.home', 'agent-relay', { ...input, takeOver: true })
  expect(cluster.entries.at(-1)?.facts).toEqual([{ type: 'agent.homed', ...input, epoch: 2, isTakeOver: true }])
  expect(outcome(await a.give('inbox.take', 'cy', { limit: 5 })).messages).toEqual([id])
  isCut = false
  const read = () => a.store.view.receipt('cy', a.store.view.message(id) as never)?.readAt
  await until(() => read() !== undefined)
  expect(said(await cut.give('inbox.take', 'cy', { limit: 5 }))).toBe('agent.elsewhere')
  expect(message).not.toBe(id)
})

test('made again from both journals, the rows are the same', async () => {
  const { b, message, settled } = await sent()
  await b.give('inbox.take', 'bob', { limit: 5 })
  await b.give('inbox.read', 'bob', { messages: [message] })
  await until(() => b.store.meta('noted') !== undefined)
  await settled()
  await b.give('message.send', 'bob', { to: 'ada', body: 'back' })
  const before = dump(b.store.database, true)
  b.store.rebuild()
  expect(dump(b.store.database, true)).toBe(before)
})

test('who looks into a channel enters it for all machines', async () => {
  const { a, b, settled } = await sent()
  await a.give('channel.create', 'ada', { channel: '#build' })
  await settled()
  await b.give('inbox.take', 'bob', { channel: '#build', limit: 5 })
  await settled()
  expect(a.store.view.isMember('bob', '#build')).toBe(true)
  expect(said(await b.give('inbox.take', 'bob', { channel: '#none', limit: 5 }))).toBe('channel.unknown')
})

test('a name is registered again only at its home; a person has a second name on a second machine, and is told so', async () => {
  const { a, b, settled } = await sent()
  expect(said(await a.register('bob'))).toBe('agent.elsewhere')
  expect(said(await a.register('bob', { proven: true, strict: false }))).toBe('agent.elsewhere')
  expect(outcome(await a.register('bob', { strict: false })).agent).toBe('bob-2')
  const kim = { proven: true, isHolder: true, type: 'human' as const }
  expect(outcome(await a.register('kim', kim)).agent).toBe('kim')
  await settled()
  const second = outcome(await b.register('kim', kim))
  const because = 'kim is at home on desk; on this machine you are kim-laptop.'
  expect(second).toMatchObject({ agent: 'kim-laptop', because })
  expect(outcome(await b.register('kim', kim))).toMatchObject({ agent: 'kim-laptop', id: second.id, because })
  expect(outcome(await a.register('kim', kim)).agent).toBe('kim')
})

test('two machines have two people of one name, each written to on its own machine before the first visit', async () => {
  const { a, b, settled } = await sent()
  a.person = b.person = 'kim'
  expect(said(await b.give('message.send', 'bob', { to: 'kim-laptop', body: 'nobody yet' }))).toBe('agent.unknown')
  expect(outcome(await a.give('message.send', 'ada', { to: 'kim', body: 'on the desk' })).to).toBe('kim')
  await settled()
  expect(b.store.view.agent('kim')?.type).toBe('human')
  expect(b.store.view.home('kim')?.machine).toBe('desk')
  expect(outcome(await b.give('message.send', 'bob', { to: 'kim-laptop', body: 'on the laptop' })).to).toBe(
    'kim-laptop',
  )
  await settled()
  expect(a.store.view.home('kim-laptop')?.machine).toBe('laptop')
  expect(said(await a.register('kim-laptop'))).toBe('agent.elsewhere')
  const kim = { proven: true, isHolder: true, type: 'human' as const }
  expect(outcome(await a.register('kim', kim)).agent).toBe('kim')
  expect(outcome(await b.register('kim', kim)).agent).toBe('kim-laptop')
  const writersTo = (name: string, { store }: SharedDaemon) =>
    [...store.view.inbox.unread(name, {})].flatMap((each) => (each ? [each.head.from] : []))
  expect([writersTo('kim', a), writersTo('kim-laptop', b)]).toEqual([['ada'], ['bob']])
})

test('both machines write to the same new name at once: one person gets it, and nothing is lost', async () => {
  const { a, b, settled } = await sent()
  a.person = b.person = 'kim'
  const sends = await Promise.all([
    a.give('message.send', 'ada', { to: 'kim', body: 'from the desk' }),
    b.give('message.send', 'bob', { to: 'kim', body: 'from the laptop' }),
  ])
  expect(sends.map((reply) => outcome(reply).to)).toEqual(['kim', 'kim'])
  await settled()
  expect(a.store.view.home('kim')).toEqual(b.store.view.home('kim'))
  expect([...a.store.view.agents()].filter(({ type }) => type === 'human').map(({ name }) => name)).toEqual(['kim'])
})

test('what was at home on a machine that was removed is free, and is taken with a word', async () => {
  const { cluster, a, b, message, settled } = await sent()
  await b.register('cy')
  await b.register('dee')
  await settled()
  a.removed.add('laptop')
  cluster.proclaim([{ type: 'machine.revoked', machine: 'laptop' }])
  await settled()
  // Who has no right to the name has none now.
  expect(said(await a.register('bob', { mayRetake: false }))).toBe('agent.name-offline')
  expect(said(await a.give('message.send', 'bob', { to: 'ada', body: 'not yet' }))).toBe('agent.elsewhere')
  expect(outcome(await a.register('bob', { strict: false })).agent).toBe('bob')
  const homed = { type: 'agent.homed', agent: 'bob', machine: 'desk', epoch: 2, isTakeOver: true }
  expect(cluster.entries.at(-1)?.facts[0]).toEqual(homed)
  expect(outcome(await a.give('inbox.take', 'bob', { limit: 5 })).messages).toEqual([message])
  expect(outcome(await a.register('cy', { proven: true })).agent).toBe('cy')
  expect(a.store.view.home('cy')).toEqual({ machine: 'desk', epoch: 2 })
  // Once more: it is here by now.
  const head = cluster.entries.length
  expect(outcome(await a.register('cy', { proven: true })).agent).toBe('cy')
  expect(cluster.entries.length).toBe(head)
  // The machine itself takes all of it in, and nothing comes from it any more.
  await until(() => b.store.view.home('cy')?.machine === 'desk')
  expect(said(await b.register('cy', { proven: true }))).toBe('agent.elsewhere')
  expect(said(await b.give('message.send', 'dee', { to: 'ada', body: 'still here' }))).toBe('machine.revoked')
  expect([a.stopped, b.stopped]).toEqual([undefined, undefined])
})

test('a person whose machine was removed has the first name on the next one, unless a second name is in use there', async () => {
  const { cluster, a, b, settled } = await sent()
  const person = { proven: true, isHolder: true, type: 'human' as const }
  for (const name of ['kim', 'lee']) await b.register(name, person)
  await settled()
  expect(outcome(await a.register('kim', person)).agent).toBe('kim-desk')
  a.removed.add('laptop')
  cluster.proclaim([{ type: 'machine.revoked', machine: 'laptop' }])
  await settled()
  expect(outcome(await a.register('kim', person)).agent).toBe('kim-desk')
  expect(outcome(await a.register('lee', person)).agent).toBe('lee')
  expect(a.store.view.home('lee')?.machine).toBe('desk')
})

test('a worker whose machine was removed is over for who releases it, and its name can be given again', async () => {
  const { cluster, a, b, settled } = await sent()
  const worker = { name: 'fixer', cli: 'fake', command: ['fake'], args: [], cwd: '/', isInjected: false }
  await b.give('worker.spawn', 'bob', worker)
  await settled()
  const standing = { rank: 'holder' as const }
  const release = () => a.give('worker.release', 'ada', { name: 'fixer', standing })
  a.removed.add('laptop')
  cluster.proclaim([{ type: 'machine.revoked', machine: 'laptop' }])
  await settled()
  expect(said(await a.give('worker.spawn', 'ada', { ...worker, parent: 'bob' }))).toBe('worker.exists')
  outcome(await release())
  expect(a.store.view.workers.byName('fixer')).toMatchObject({
    status: 'exited',
    reason: 'its machine, laptop, was removed from the cluster',
  })
  expect(said(await release())).toBe('worker.exited')
  outcome(await a.give('worker.spawn', 'ada', { ...worker, parent: 'bob' }))
  expect(a.store.view.home('fixer')).toEqual({ machine: 'desk', epoch: 2 })
  await settled()
  expect(b.store.view.workers.byName('fixer')).toMatchObject({ machine: 'desk' })
})

/** Appended by a machine that keeps no rules. */
const forged: Record<string, (message: string) => { by?: string; facts: Fact[] }> = {
  'a message': () => ({
    facts: [{ type: 'message.created', id: 'm_1', conversation: '#general', n: 1, from: 'ada', kind: 'free' }],
  }),
  'a reaction': (message) => ({ facts: [{ type: 'reaction.added', message, agent: 'ada', emoji: '+1' }] }),
  'a delivery': (message) => ({ facts: [{ type: 'delivery.read', message, agent: 'ada' }] }),
  'a note': (message) => ({
    facts: [
      {
        type: 'deliveries.noted',
        agent: 'ada',
        machine: 'rogue',
        epoch: 1,
        through: 9,
        receipts: [{ message, readAt: 1 }],
      },
    ],
  }),
  "a note as if it were the home's": (message) => ({
    facts: [
      {
        type: 'deliveries.noted',
        agent: 'ada',
        machine: 'desk',
        epoch: 1,
        through: 9,
        receipts: [{ message, readAt: 1 }],
      },
    ],
  }),
  'a move that says nothing': () => ({ facts: [{ type: 'agent.homed', agent: 'ada', machine: 'rogue', epoch: 2 }] }),
  'a move to another': () => ({
    facts: [{ type: 'agent.homed', agent: 'ada', machine: 'laptop', epoch: 2, isTakeOver: true }],
  }),
}

test.each(Object.keys(forged))(
  '%s in the name of an agent of another machine counts for nothing anywhere, and names the machine',
  async (what) => {
    const { cluster, a, b, message, settled } = await sent()
    const before = [a, b].map(({ store }) => dump(store.database))
    const head = cluster.entries.length
    const { facts } = (forged[what] as (message: string) => { facts: Fact[] })(message)
    const stamp = { at: 1, by: 'agent-relay', cause: 'r', rule: 'x', outcome: {} }
    const rogue = { ...stamp, facts, writes: changedKeysOf(facts) }
    const known = { seq: head, mark: cluster.entries.at(-1)?.mark as string }
    await cluster.start('rogue').append({ position: known, reads: [], drafts: [rogue] })
    await settled()
    for (const { store } of [a, b]) {
      expect(store.journal.voidEntries(9)).toEqual([
        { seq: head + 1, machine: 'rogue', why: expect.stringContaining('rogue may not') },
      ])
      expect(store.journal.entryAt(head + 1)?.facts).toEqual([])
    }
    expect([a, b].map(({ store }) => dump(store.database))).toEqual(before)
    expect(said(await a.give('message.send', 'ada', { to: 'bob', body: 'x' }))).toBe(head + 2)
  },
)

test('a workspace of format 1 keeps its rules until it is raised: what came before counts as it did, what comes after is judged', async () => {
  const cluster = new FakeCluster()
  const old = cluster.start('one')
  const add = async (facts: Fact[], cause: string, from = old) => {
    const { seq, mark } = cluster.entries.at(-1) ?? { seq: 0, mark: '' }
    const draft = { at: 1, by: 'agent-relay', cause, rule: 'x', outcome: {}, facts, writes: changedKeysOf(facts) }
    await from.append({ position: { seq, mark }, reads: [], drafts: [draft] })
  }
  const registered = (name: string, machine: string): Fact[] => [
    { type: 'agent.registered', id: name, agent: { name, type: 'agent' } },
    { type: 'agent.homed', agent: name, machine, epoch: 1 },
  ]
  const policy = (spawn: 'none' | 'all'): Fact[] => [
    { type: 'workspace.policy-set', policy: { ...defaultPolicy, spawn } as never },
  ]
  await add(
    [
      { type: 'workspace.began', id: 'w' },
      { type: 'channel.created', channel: '#general' },
      { type: 'conversation.opened', conversation: '*', members: [] },
    ],
    'begin',
  )
  await add(registered('ada', 'one'), 'ada')
  const two = cluster.start('two')
  await add(policy('all'), 'before', two)
  const daemon = new SharedDaemon(cluster, 'three')
  await until(() => daemon.store.journal.lastSeq === 3)
  expect([daemon.store.view.format(), daemon.store.view.policy().spawn]).toEqual([1, 'all'])
  cluster.proclaim(sharingBeginFacts('one'))
  await add(policy('none'), 'after', two)
  await until(() => daemon.store.journal.lastSeq === 5)
  expect([daemon.store.view.format(), daemon.store.view.owner()]).toEqual([2, 'one'])
  expect(daemon.store.view.policy().spawn).toBe('all')
  expect(daemon.store.journal.voidEntries()).toEqual([
    { seq: 5, machine: 'two', why: 'two may not say workspace.policy-set' },
  ])
  await add(policy('none'), 'owner', old)
  await until(() => daemon.store.view.policy().spawn === 'none')
})

test('in format 1 nobody makes itself the owner', async () => {
  const cluster = new FakeCluster()
  const [one, rogue] = [cluster.start('one'), cluster.start('rogue')]
  const draft = (cause: string, facts: Fact[]) => {
    return { at: 1, by: 'agent-relay', cause, rule: 'x', outcome: {}, facts, writes: changedKeysOf(facts) }
  }
  const append = { position: { seq: 0, mark: '' }, reads: [] }
  await one.append({ ...append, drafts: [draft('begin', [{ type: 'channel.created', channel: '#general' }])] })
  await rogue.append({ ...append, drafts: [draft('mine', sharingBeginFacts('rogue'))] })
  const daemon = new SharedDaemon(cluster, 'two')
  await until(() => daemon.stopped === 'forged')
  expect(daemon.store.view.owner()).toBeUndefined()
})
