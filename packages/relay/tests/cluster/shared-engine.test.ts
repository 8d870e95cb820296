// The engine of a shared workspace, on a cluster in memory: its promises to several daemons. Failures of every kind are played in test/sim/cluster.

import { afterEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { type FakeCluster, soundWire } from './fake-cluster.ts'
import { endAll, SharedDaemon, said, team } from './shared-daemon.ts'

afterEach(endAll)

test('what one daemon stores another sees, and both have the same rows', async () => {
  const { daemons } = await team('one', 'two')
  const [a, b] = daemons as [SharedDaemon, SharedDaemon]
  const sent = await a.give('message.send', 'ada', { to: 'bob', body: 'hello' })
  expect(said(sent)).toBe(4)
  await until(() => b.store.journal.lastSeq === 4)
  expect([...b.store.view.inbox.unread('bob', {})].flatMap((each) => each?.body ?? [])).toEqual(['hello'])
})

test('commands of one turn share an append and see each other', async () => {
  const { daemons } = await team('one')
  const [a] = daemons as [SharedDaemon]
  const channel = '#build'
  const replies = await Promise.all([
    a.give('channel.create', 'ada', { channel }),
    a.give('channel.create', 'bob', { channel }),
    a.give('message.send', 'bob', { to: channel, body: 'x' }),
  ])
  expect(replies.map(said)).toEqual([4, 'channel.exists', 5])
  expect(a.calls).toEqual(['append'])
})

test('a refusal is told only after a look at the cluster, and not if it is no longer true', async () => {
  const { cluster, daemons } = await team('one')
  const [a] = daemons as [SharedDaemon]
  const unaware = new SharedDaemon(cluster, 'two', { ...soundWire, hint: () => {} })
  await until(() => unaware.store.journal.lastSeq === 3)
  expect(said(await unaware.give('message.send', 'notes:kim', { to: 'eve', body: 'x' }))).toBe('agent.unknown')
  expect(unaware.calls).toEqual(['barrier'])
  await a.register('eve')
  expect(said(await unaware.give('message.send', 'notes:kim', { to: 'eve', body: 'x' }))).toBe(5)
})

test('the same command twice, at once and later, here and elsewhere, has one entry and one answer', async () => {
  const { cluster, daemons } = await team('one', 'two')
  const [a, b] = daemons as [SharedDaemon, SharedDaemon]
  const ask = (daemon: SharedDaemon) =>
    daemon.give('message.send', 'notes:kim', { to: 'bob', body: 'once' }, 'the same')
  const replies = [...(await Promise.all([ask(a), ask(a), ask(b)])), await ask(b), await ask(a)]
  expect(new Set(replies.map(said))).toEqual(new Set([4]))
  expect(cluster.entries.length).toBe(4)
  const other = await b.give('message.send', 'notes:kim', { to: 'bob', body: 'another' }, 'the same')
  expect(said(other)).toBe('call.reused')
})

test('facts that cannot be applied are not sent, and do not fail the others', async () => {
  const { cluster, daemons } = await team('one')
  const [a] = daemons as [SharedDaemon]
  const replies = await Promise.all([
    a.give('channel.join', 'ada', { channel: '#build', create: true }),
    // Admission lets nobody act who is not registered.
    a.give('channel.join', 'notes:kim', { channel: '#build', create: true }),
    a.give('message.send', 'bob', { to: 'ada', body: 'x' }),
  ])
  expect(replies.map(said)).toEqual([4, 'machine.not-allowed', 5])
  expect(cluster.entries.length).toBe(5)
})

test('into one hot channel everybody gets through, in turns where it must be', async () => {
  const { cluster, daemons } = await team('one', 'two', 'three', 'four')
  const send = (daemon: SharedDaemon, i: number) =>
    daemon.give('message.send', 'notes:kim', { to: '#general', body: `${i}` }, `${daemons.indexOf(daemon)} ${i}`)
  const floods = daemons.map(async (daemon) => {
    for (let i = 0; i < 25; i++) expect('refusal' in (await send(daemon, i))).toBe(false)
  })
  await Promise.all(floods)
  const numbers = cluster.entries.flatMap(({ facts }) =>
    facts.flatMap((fact) => (fact.type === 'message.created' ? [fact.n] : [])),
  )
  expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

/** Appended by who is not asked: the administrator of the database, or a machine that keeps no rules. */
const appended = (cluster: FakeCluster, facts: unknown[], administrator?: 'administrator') => {
  const draft = { at: 1, by: 'agent-relay', cause: 'later', rule: 'x', outcome: {}, facts, writes: [] }
  const append = { position: { seq: 0, mark: '' }, reads: [], drafts: [draft as never] }
  return administrator ? cluster.proclaim(facts as never) : cluster.start('three').append(append)
}

test('a format of a later version stops the daemon before it', async () => {
  const { cluster, daemons } = await team('one', 'two')
  const [a, b] = daemons as [SharedDaemon, SharedDaemon]
  await appended(cluster, [{ type: 'workspace.raised', format: 3 }, { type: 'moon.landed' }], 'administrator')
  await until(() => a.stopped === 'newer' && b.stopped === 'newer')
  expect(a.store.journal.lastSeq).toBe(3)
  expect(said(await a.give('message.send', 'ada', { to: 'bob', body: 'x' }))).toBe('cluster.newer')
})

test('a fact that no version of this format knows counts for nothing, and the work goes on', async () => {
  const { cluster, daemons, settled } = await team('one', 'two')
  const [a, b] = daemons as [SharedDaemon, SharedDaemon]
  await appended(cluster, [{ type: 'moon.landed' }])
  await settled()
  const why = 'it holds a fact of an unknown type'
  for (const { store } of [a, b]) expect(store.journal.voidEntries(9)).toEqual([{ seq: 4, machine: 'three', why }])
  expect(said(await a.give('message.send', 'ada', { to: 'bob', body: 'x' }))).toBe(5)
})

test('a daemon whose identity is used elsewhere stops', async () => {
  const { cluster, daemons } = await team('one')
  const [a] = daemons as [SharedDaemon]
  cluster.start('one')
  expect(said(await a.give('message.send', 'ada', { to: 'bob', body: 'x' }))).toBe('machine.fenced')
  expect(cluster.entries.length).toBe(3)
})

test('what an agent spends is noted at its home alone, once, without the cluster, and is there again after a rebuild', async () => {
  const { cluster, daemons } = await team('one', 'two')
  const [a, b] = daemons as [SharedDaemon, SharedDaemon]
  const tokens = { input: 10, output: 2, cached: 0 }
  const entries = cluster.entries.length
  for (const cause of ['turn 1', 'turn 1', 'turn 2']) await a.give('spend.note', 'ada', { tokens }, cause)
  expect([...a.calls, ...b.calls]).toEqual([])
  expect(cluster.entries.length).toBe(entries)
  const spent = { tokens: { input: 20, output: 4, cached: 0 } }
  expect(a.store.spend.ofAgent('ada')).toEqual(spent)
  a.store.rebuild()
  expect(a.store.spend.ofAgent('ada')).toEqual(spent)
  expect(said(await b.give('spend.note', 'ada', { tokens }))).toBe('agent.elsewhere')
  expect(b.store.spend.ofAgent('ada')).toBeUndefined()
})
