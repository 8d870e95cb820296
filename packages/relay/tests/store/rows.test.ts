// The traces of a failed transaction: none, neither in the tables nor in the caches of them.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TablesMirror } from '../../src/store/tables.ts'
import { SqliteView } from '../../src/store/view.ts'
import { CoreWorld } from '../core/core-world.ts'

test('a rolled back entry leaves no trace in memory', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { store } = world
  const before = store.journal.lastSeq
  expect(() =>
    store.transact(() => {
      const facts = [
        { type: 'channel.created', channel: '#gone' },
        { type: 'agent.registered', id: 'a', agent: { name: 'gone', type: 'agent', handle: 'g' } },
      ] as const
      store.append({ at: 1, by: 'gone', cause: 'x', facts: [...facts], rule: 'agent.register', outcome: {} })
      expect(store.view.agent('gone')).toBeDefined()
      expect(store.view.channels()).toEqual(['#general', '#gone'])
      throw new Error('the disk said no')
    }),
  ).toThrow('the disk said no')
  expect(store.journal.lastSeq).toBe(before)
  expect(store.view.agent('gone')).toBeUndefined()
  expect(store.view.agentsNamedLike('g')).toEqual([])
  expect(store.view.channels()).toEqual(['#general'])
})

test('after a rollback, what is kept in memory equals what is read from the database', () => {
  const names = ['ada', 'Ada', 'bob', 'cy']
  const channels = ['#general', '#one', '#two']
  const step = fc.record({
    name: fc.constantFrom(...names),
    kind: fc.constantFrom('register', 'handle', 'retire', 'send', 'join', 'leave', 'remove', 'count'),
    channel: fc.constantFrom(...channels),
    isKept: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 }), (transactions) => {
      const world = new CoreWorld().cast('ada')
      const { store } = world
      for (const steps of transactions) {
        const work = () => {
          for (const { name, kind, channel } of steps) {
            if (kind === 'register') world.register(name)
            if (kind === 'handle') world.register(name, { handle: `h-${channel.slice(1)}`, proven: true })
            if (kind === 'retire') world.give('agent.retire', 'owner', { name })
            if (kind === 'send' && store.view.agent(name)) world.give('message.send', name, { to: channel, body: 'x' })
            if (kind === 'join' && store.view.agent(name)) world.give('channel.join', name, { channel, create: true })
            if (kind === 'leave' && store.view.agent(name)) world.give('channel.leave', name, { channel })
            if (kind === 'remove') world.give('channel.remove', 'owner', { channel })
            if (kind === 'count') store.queries.memberCount(channel)
            if (kind === 'count') store.view.channels()
          }
          if (!steps[0]?.isKept) throw new Error('no')
        }
        try {
          world.together(work)
        } catch (error) {
          expect((error as Error).message).toBe('no')
        }
        const fresh = new SqliteView(store.database, new TablesMirror(store.database))
        expect([...store.view.agents()]).toEqual([...fresh.agents()])
        for (const text of [...names, 'h-general', 'h-one', 'h-two'])
          expect(store.view.agentsNamedLike(text)).toEqual(fresh.agentsNamedLike(text))
        expect(store.view.channels()).toEqual(fresh.channels())
        for (const channel of channels) {
          expect(store.view.lastNumber(channel)).toBe(fresh.lastNumber(channel))
          expect(store.queries.memberCount(channel)).toBe(
            [...fresh.agents()].filter(({ name }) => fresh.isMember(name, channel)).length,
          )
        }
      }
    }),
    { numRuns: 20 },
  )
})

test('a cursor whose move failed is not moved past unread messages later', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { database } = world.store
  for (let i = 0; i < 63; i++) world.send('bob', '#general')
  // The 64th of one's own moves the cursor; let just that fail.
  database.exec("CREATE TEMP TRIGGER no BEFORE UPDATE OF cursor ON members BEGIN SELECT RAISE(ABORT, 'no'); END")
  expect(() => world.send('bob', '#general')).toThrow(/no/)
  database.exec('DROP TRIGGER no')
  world.send('bob', 'ada')
  const message = world.send('ada', '#general')
  expect(world.unread('bob')).toEqual([message])
})

test('rebuilt from the journal, every table is the same', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  world.live.add('s1')
  for (let i = 0; i < 130; i++) world.send(i % 3 ? 'bob' : 'ada', '#general')
  world.take('bob', 's1', { limit: 7 })
  world.give('inbox.read', 'bob', { messages: world.unread('bob').slice(0, 5) })
  world.give('channel.join', 'bob', { channel: '#c', create: true })
  world.give('channel.leave', 'bob', { channel: '#c' })
  // Two of one day, of which one has a cost, and one of the next.
  const note = (input: number, more: { model?: string; usd?: number }) =>
    world.give('spend.note', 'bob', { tokens: { input, output: 1, cached: 0 }, ...more })
  note(1, { model: 'm' })
  note(2, { model: 'm', usd: 0.1 })
  world.at += 86_400_000
  note(4, { model: 'm', usd: 0.2 })
  note(8, {})
  expect(world.store.spend.ofAgent('bob')).toEqual({ tokens: { input: 15, output: 4, cached: 0 }, usd: 0.3 })
  const rows = () =>
    ['agents', 'tokens', 'conversations', 'members', 'receipts', 'reactions', 'spend', 'meta'].map((table) =>
      world.store.database.prepare(`SELECT * FROM ${table}`).all(),
    )
  const before = rows()
  expect(before.at(-2)).toHaveLength(3)
  world.store.rebuild()
  expect(rows()).toEqual(before)
  // And the mirrors know where to go on.
  const message = world.send('ada', '#general')
  expect(world.store.view.message(message)?.n).toBe(131)
})
