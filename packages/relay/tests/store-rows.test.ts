// What a failed transaction leaves behind: nothing, neither in the tables nor in what is remembered of them.

import { expect, test } from 'vitest'
import { CoreWorld } from './core-world.ts'

test('a rolled back entry leaves no trace in the mirrors', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { store } = world
  const before = store.journal.lastSeq
  expect(() =>
    store.transact(() => {
      const facts = [
        { type: 'channel.created', channel: '#gone' },
        { type: 'agent.registered', id: 'a', agent: { name: 'gone', type: 'agent', handle: 'g' } },
      ] as const
      store.append({ at: 1, by: 'gone', cause: 'x', facts: [...facts] }, 'agent.register', {}, undefined)
      expect(store.view.agent('gone')).toBeDefined()
      throw new Error('the disk said no')
    }),
  ).toThrow('the disk said no')
  expect(store.journal.lastSeq).toBe(before)
  expect(store.view.agent('gone')).toBeUndefined()
  expect(store.view.agentOfHandle('g')).toBeUndefined()
  expect(store.view.channels()).toEqual(['#general'])
})

test('a cursor that could not be moved is not moved later to where nobody has been', () => {
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
  world.give('channel.join', 'bob', { channel: '#c' })
  world.give('channel.leave', 'bob', { channel: '#c' })
  const rows = () =>
    ['agents', 'tokens', 'conversations', 'members', 'receipts', 'reactions', 'meta'].map((table) =>
      world.store.database.prepare(`SELECT * FROM ${table}`).all(),
    )
  const before = rows()
  world.store.rebuild()
  expect(rows()).toEqual(before)
  // And the mirrors know where to go on.
  const message = world.send('ada', '#general')
  expect(world.store.view.message(message)?.n).toBe(131)
})
