// Pruning in the store: the entries that go, those that stay, and that these make the same rows again.

import { expect, test } from 'vitest'
import { runAllSteps } from '../../src/core/steps.ts'
import { digestToStore, inputDigest, type StoredDecision } from '../../src/store/call-digest.ts'
import type { FinishedParts } from '../../src/store/finished.ts'
import { derivedTables } from '../../src/store/migrations.ts'
import type { PrunedFact } from '../../src/store/pruning.ts'
import { CoreWorld } from '../core/core-world.ts'

const day = 86_400_000

/** All slices, older than a day. */
function prune(world: CoreWorld, awaited: string[] = []): { gone: PrunedFact[]; finished: FinishedParts } {
  const { store } = world
  const horizon = { at: world.at - day, now: world.at, awaited }
  const finished = runAllSteps(store.finished.find(horizon, store.journal.lastSeq))
  const gone: PrunedFact[] = []
  const record = {
    id: 1,
    at: world.at,
    horizon: horizon.at,
    through: finished.throughSeq,
    bytes: 0,
    messages: 0,
    events: 0,
  }
  for (let after = 0; after < finished.throughSeq; ) {
    const slice = runAllSteps(store.pruning.nextSlice(after, finished, 96))
    if (slice.prunedFacts.length > 0) store.transact(() => store.pruning.deleteSlice(slice, record))
    gone.push(...slice.prunedFacts)
    after = slice.throughSeq
  }
  store.transact(() => {
    for (let at: [number, number] | undefined = [Number.MIN_SAFE_INTEGER, 0]; at; )
      at = store.pruning.forgetConcerns(at)
  })
  return { gone, finished }
}

const texts = (world: CoreWorld, conversation: string) =>
  world.store.history
    .messagesInSpan(conversation, { after: 0, before: 1_000, limit: 1_000, bytesMax: 1e9, isUpward: true })
    .map(({ n }) => n)

const readAll = (world: CoreWorld, ...names: string[]) => {
  for (const name of names) world.give('inbox.read', name, { messages: world.unread(name) })
}

test('what everybody has read goes, with all that was told of it; the last one keeps its number', () => {
  const world = new CoreWorld().cast('ada', 'bob', 'cy')
  const { store } = world
  for (let i = 0; i < 70; i++) world.send('ada', '#general')
  const reacted = world.send('bob', '#general')
  world.give('message.react', 'ada', { message: reacted, emoji: '👍' })
  readAll(world, 'ada', 'bob', 'cy')
  world.at += 2 * day
  const young = world.send('bob', '#general')
  const { gone } = prune(world)
  expect(texts(world, '#general')).toEqual([72])
  expect(store.view.lastNumber('#general')).toBe(72)
  expect(gone.filter(({ message }) => message)).toHaveLength(71)
  expect(new Set(gone.map(({ fact }) => fact.type))).toEqual(
    new Set(['message.created', 'delivery.read', 'reaction.added']),
  )
  for (const table of ['receipts', 'reactions'])
    expect(store.database.prepare(`SELECT count(*) FROM ${table}`).get()).toEqual([0])
  expect(world.unread('ada')).toEqual([young])
  expect(store.view.message(world.send('cy', '#general'))?.n).toBe(73)
  // Nobody is concerned any more by an entry that tells nothing.
  const stale = "SELECT count(*) FROM concerns c JOIN journal j ON j.seq = c.seq WHERE j.facts = '[]'"
  expect(store.database.prepare(stale).get()).toEqual([0])
})

test('what somebody has not read stays, and it is said who', () => {
  const world = new CoreWorld().cast('ada', 'bob', 'cy')
  for (let i = 0; i < 10; i++) world.send('ada', '#general')
  readAll(world, 'cy')
  const read = world.unread('bob').slice(0, 4)
  world.give('inbox.read', 'bob', { messages: read })
  world.at += 2 * day
  const { finished } = prune(world)
  expect(texts(world, '#general')).toEqual([5, 6, 7, 8, 9, 10])
  expect(finished.held).toEqual([{ conversation: '#general', n: 5, messages: 5, unreadBy: ['bob'], isAsked: false }])
  expect(world.unread('bob')).toHaveLength(6)
  // Whoever is retired holds up nobody.
  world.give('agent.retire', 'owner', { name: 'bob' })
  prune(world)
  expect(texts(world, '#general')).toEqual([10])
})

test('what was read only lately stays: whoever read it may be at work on it', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  for (let i = 0; i < 300; i++) world.send('ada', 'bob')
  world.give('inbox.read', 'bob', { messages: world.unread('bob').slice(0, 290) })
  world.at += 2 * day
  readAll(world, 'bob')
  const { finished } = prune(world)
  expect(finished.held).toEqual([])
  expect(texts(world, '@ada,bob')).toEqual([291, 292, 293, 294, 295, 296, 297, 298, 299, 300])
  world.at += 2 * day
  prune(world)
  expect(texts(world, '@ada,bob')).toEqual([300])
})

test('a question that is open stays, and so does a message whose answer is awaited', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const send = world.send.bind(world)
  send('ada', 'bob')
  const question = send('ada', 'bob', { kind: 'question', thread: 'plan' })
  for (let i = 0; i < 3; i++) send('ada', 'bob')
  readAll(world, 'bob')
  world.at += 2 * day
  const { finished } = prune(world)
  expect(finished.held).toEqual([{ conversation: '@ada,bob', n: 2, messages: 3, unreadBy: [], isAsked: true }])
  expect(texts(world, '@ada,bob')).toEqual([2, 3, 4, 5])
  send('bob', 'ada', { thread: 'plan' })
  readAll(world, 'ada')
  prune(world, [question])
  expect(texts(world, '@ada,bob')).toEqual([2, 3, 4, 5, 6])
  prune(world)
  expect(texts(world, '@ada,bob')).toEqual([6])
})

test('a command that was carried out is still known, and answered as before', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { store } = world
  for (let i = 0; i < 3; i++) world.send('ada', 'bob')
  readAll(world, 'bob')
  const entries = store.journal.entriesAfter(0, 1_000)
  const answers = entries.map(({ by, cause }) => store.recordedAnswer(by, cause))
  world.at += 2 * day
  expect(prune(world).gone.length).toBeGreaterThan(0)
  const left = store.journal.entriesAfter(0, 1_000)
  expect(left.map(({ seq }) => seq)).toEqual(entries.map(({ seq }) => seq))
  expect(left.map(({ by, cause }) => store.recordedAnswer(by, cause))).toEqual(answers)
  expect(store.journal.lastSeq).toBe(entries.length)
})

test('calls, approvals and claims that are over go; those that are not stay', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { store } = world
  const open = (id: string) => ({
    ...{ type: 'approval.opened', id, agent: 'ada', vendor: 'v', tool: 't', input: 'i', isExact: true },
    ...{ digest: 'd', choices: [], hiddenChars: 5 },
  })
  const claim = { path: '/a', root: '/', file: 'a', repository: 'r', agent: 'ada' }
  const call = (id: string) => ({ type: 'action.invoked', id, action: 'act', caller: 'ada', until: 1, inputBytes: 2 })
  const write = (facts: object[], body?: string) =>
    store.transact(() =>
      store.append({
        at: world.at,
        by: 'x',
        cause: `c${store.journal.lastSeq}`,
        facts: facts as never,
        rule: 'r',
        outcome: {},
        body,
      }),
    )
  for (const id of ['ap-1', 'ap-2', 'ap-3']) write([open(id)], `whole ${id}`)
  for (const id of ['ap-1', 'ap-3']) write([{ type: 'approval.closed', id, agent: 'ada', how: 'allowed' }])
  write([{ type: 'claim.made', ...claim, how: 'edit', until: world.at + 100 * day }])
  write([{ type: 'claim.made', ...claim, path: '/b', how: 'edit', until: world.at + day }])
  write([{ type: 'claim.ended', path: '/b', agent: 'ada' }])
  for (const id of ['i1', 'i2']) write([call(id)], '{}')
  write([{ type: 'action.completed', id: 'i1', action: 'act', caller: 'ada', ok: true, durationMs: 1 }], '"done"')
  world.at += 2 * day
  const { gone } = prune(world)
  const rows = (sql: string) => store.database.prepare(sql).all().flat()
  // ap-3 is the last: the next one gets its number from it.
  expect(rows('SELECT id FROM approvals')).toEqual(['ap-2', 'ap-3'])
  expect(rows('SELECT path FROM claims')).toEqual(['/a'])
  expect(rows('SELECT id FROM invocations')).toEqual(['i2'])
  expect(rows('SELECT body FROM bodies')).toEqual(['whole ap-2', 'whole ap-3', '{}'])
  expect(gone.flatMap(({ body }) => body ?? [])).toEqual(['whole ap-1', '{}', '"done"'])
  const tables = () => ['approvals', 'claims', 'invocations', 'concerns'].map((table) => rows(`SELECT * FROM ${table}`))
  const before = tables()
  store.rebuild()
  expect(tables()).toEqual(before)
})

test('what is left makes the same rows again, also where an old message was read only now', () => {
  const world = new CoreWorld().cast('ada', 'bob', 'cy')
  const { store } = world
  for (let i = 0; i < 200; i++) world.send(i % 3 ? 'bob' : 'ada', '#general')
  for (let i = 0; i < 5; i++) world.send('ada', 'bob')
  world.give('channel.join', 'cy', { channel: '#c', create: true })
  world.send('cy', '#c')
  world.give('channel.leave', 'cy', { channel: '#c' })
  readAll(world, 'ada', 'bob')
  world.at += 2 * day
  readAll(world, 'cy')
  const kept = world.send('bob', '#general')
  world.give('message.react', 'ada', { message: kept, emoji: '👍' })
  prune(world)
  // A cursor may stand before messages that are gone; of what was told later about such a message, its sender is not known any more.
  const rows = () =>
    derivedTables
      .filter((table) => table !== 'members' && table !== 'concerns')
      .map((table) => [table, store.database.prepare(`SELECT * FROM ${table}`).all()])
  const seen = () => ['ada', 'bob', 'cy'].map((name) => [world.unread(name), [...atOnceSpans(name)]])
  const atOnceSpans = (name: string) => [...store.visible.spans(name)].map((span) => span?.lastSeq)
  const [before, saw] = [rows(), seen()]
  store.rebuild()
  expect(rows()).toEqual(before)
  expect(seen()).toEqual(saw)
  expect(store.view.message(world.send('ada', '#general'))?.n).toBe(202)
})

test('the clock that was ahead once does not keep everything', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  world.send('ada', 'bob')
  const now = world.at
  world.at += 1_000 * day
  world.send('ada', 'bob')
  world.at = now
  world.send('ada', 'bob')
  readAll(world, 'bob')
  world.at += 2 * day
  world.send('ada', 'bob')
  prune(world)
  expect(texts(world, '@ada,bob')).toEqual([4])
})

test('the id of a message that went still tells another call from the same', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { store } = world
  const input = { to: 'bob', body: 'plain' }
  const call = {
    cause: 'c1',
    digest: (stored?: StoredDecision) => digestToStore('message.send', input, stored as StoredDecision),
  }
  world.give('message.send', 'ada', input, undefined, call)
  readAll(world, 'bob')
  world.send('ada', 'bob')
  world.at += 2 * day
  prune(world)
  expect(texts(world, '@ada,bob')).toEqual([2])
  expect(store.journal.recordedAnswer('ada', 'c1')?.digest).toBe(inputDigest('message.send', input))
})
