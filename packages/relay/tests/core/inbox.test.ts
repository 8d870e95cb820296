// The life of a message in an inbox: every state, every move, and the result of each pair. No read message is ever offered again.

import { limits, type Route } from '@agent-relay/sdk/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { messageHoldMs, moreCountMax } from '../../src/core/inbox.ts'
import { CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
let message: string
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'bob')
  world.live.add('s1').add('s2')
  message = world.send('ada', 'bob')
})

/** How a message came into each state; `s1` and `s2` are bob's sessions. */
const states: Record<string, (w: CoreWorld) => void> = {
  stored: () => {},
  'held by another': (w) => void w.take('bob', 's1'),
  'held by oneself': (w) => void w.take('bob', 's2'),
  'delivered to another': (w) => void w.take('bob', 's1', { route: 'deliver' }),
  pushed: (w) => void w.give('inbox.offer', 'bob', { messages: [message], route: 'push' }, 's1'),
  'held too long': (w) => {
    w.take('bob', 's1')
    w.at += messageHoldMs
  },
  'held by one who vanished': (w) => {
    w.take('bob', 's1')
    w.live.delete('s1')
  },
  read: (w) => void w.give('inbox.read', 'bob', { messages: [message] }, 's1'),
  'taken and read': (w) => {
    w.take('bob', 's1')
    w.give('inbox.read', 'bob', { messages: [message] }, 's1')
  },
}

const offer = (route: Route) => (w: CoreWorld) => w.give('inbox.offer', 'bob', { messages: [message], route }, 's2')
const moves: Record<string, (w: CoreWorld) => ReturnType<CoreWorld['give']>> = {
  take: (w) => w.give('inbox.take', 'bob', {}, 's2'),
  'look back': (w) => w.give('inbox.take', 'bob', { unreadOnly: false }, 's2'),
  deliver: (w) => w.give('inbox.take', 'bob', { route: 'deliver', uncounted: true }, 's2'),
  push: offer('push'),
  'end of a wait': offer('wait'),
  'mark read': (w) => w.give('inbox.read', 'bob', { messages: [message] }, 's2'),
}

/** `o` it is offered to s2, `r` it is read, `-` nothing happens. In the order of `moves`. */
const table: Record<string, string> = {
  stored: 'oooo' + 'or',
  'held by another': '----' + 'or',
  'held by oneself': '---o' + 'or',
  'delivered to another': '----' + 'or',
  pushed: 'oooo' + 'or',
  'held too long': 'oooo' + 'or',
  'held by one who vanished': 'oooo' + 'or',
  read: '------',
  'taken and read': '------',
}

describe.each(Object.keys(states))('what is %s', (state) => {
  test.each(Object.keys(moves).map((move, i) => [move, table[state]?.[i]] as const))('on %s: %s', (move, wanted) => {
    states[state]?.(world)
    const facts = typesOf((moves[move] as (typeof moves)[string])(world))
    const happened = { 'delivery.offered': 'o', 'delivery.read': 'r' }[facts[0] ?? ''] ?? '-'
    expect(happened).toBe(wanted)
    expect(facts.length).toBeLessThanOrEqual(1)
    const receipt = world.store.view.receipt('bob', world.store.view.message(message) as never)
    if (wanted === 'o') expect(receipt).toMatchObject({ session: 's2', offeredAt: world.at })
    expect(world.unread('bob')).toEqual(wanted === 'r' || /read/.test(state) ? [] : [message])
  })
})

test('the table above names every state and every move', () => {
  expect(Object.keys(table)).toEqual(Object.keys(states))
  for (const row of Object.values(table)) expect(row).toHaveLength(Object.keys(moves).length)
})

test('a hold lasts to its last millisecond', () => {
  world.take('bob', 's1')
  world.at += messageHoldMs - 1
  expect(world.take('bob', 's2').messages).toEqual([])
  world.at += 1
  expect(world.take('bob', 's2').messages).toEqual([message])
  // Held again, by the second taker.
  expect(world.take('bob', 's1').messages).toEqual([])
})

test('looking back also shows held and read messages, and says which ones it did not hand out', () => {
  const second = world.send('ada', 'bob')
  world.take('bob', 's1', { limit: 1 })
  const back = world.give('inbox.take', 'bob', { unreadOnly: false }, 's2')
  expect(outcomeOf(back)).toEqual({ messages: [message, second], more: 0, shown: [message] })
  world.give('inbox.read', 'bob', { messages: [message, second] })
  expect(outcomeOf(world.give('inbox.take', 'bob', { unreadOnly: false }, 's2'))).toEqual({
    messages: [message, second],
    more: 0,
  })
})

describe('pages', () => {
  test('a page ends at its number of messages', () => {
    const ids = [message, ...Array.from({ length: 5 }, () => world.send('ada', 'bob'))]
    expect(world.take('bob', 's1', { limit: 4 })).toEqual({ messages: ids.slice(0, 4), more: 2 })
    expect(world.take('bob', 's1', { limit: 4 })).toEqual({ messages: ids.slice(4), more: 0 })
  })

  test('a page ends at its size but holds at least one message; the messages behind a large one wait', () => {
    world.give('inbox.read', 'bob', { messages: [message] })
    const large = 'x'.repeat(limits.bodyBytesMax)
    const ids = ['a', large, large, 'b'].map((body) => world.send('ada', 'bob', { body }))
    expect(world.take('bob', 's1')).toEqual({ messages: ids.slice(0, 2), more: 2 })
    expect(world.take('bob', 's1')).toEqual({ messages: ids.slice(2), more: 0 })
  })

  test('`more` is counted up to a thousand', () => {
    for (let i = 0; i < moreCountMax + 5; i++) world.send('ada', 'bob')
    expect(world.take('bob', 's1', { limit: 1 }).more).toBe(moreCountMax)
  })

  test('messages of several conversations come in one order', () => {
    world.cast('cy')
    const ids = [message]
    for (let i = 0; i < 120; i++) {
      ids.push(
        world.send(i % 2 ? 'ada' : 'cy', ['bob', '#general', '*', ['bob', i % 2 ? 'cy' : 'ada']][i % 4] as string),
      )
    }
    expect(world.take('bob', 's1', { limit: 500 }).messages).toEqual(ids)
    expect(outcomeOf(world.give('inbox.take', 'bob', { unreadOnly: false, limit: 30 })).messages).toEqual(
      ids.slice(-30),
    )
  })
})

test('an agent that joins has no backlog, one that leaves keeps its unread messages, and coming back loses nothing', () => {
  world.give('inbox.read', 'bob', { messages: [message] })
  world.give('channel.create', 'ada', { channel: '#c' })
  world.send('ada', '#c')
  world.give('channel.join', 'bob', { channel: '#c' })
  expect(world.unread('bob')).toEqual([])
  const kept = world.send('ada', '#c')
  world.give('channel.leave', 'bob', { channel: '#c' })
  world.send('ada', '#c')
  expect(world.unread('bob')).toEqual([kept])
  // Leaving and coming back where nothing was said is as if one had stayed.
  for (let i = 0; i < 3; i++) {
    world.give('channel.join', 'bob', { channel: '#c' })
    world.give('channel.leave', 'bob', { channel: '#c' })
  }
  world.give('channel.join', 'bob', { channel: '#c' })
  const later = world.send('ada', '#c')
  expect(world.unread('bob')).toEqual([kept, later])
  expect(codeOf(world.give('inbox.read', 'bob', { messages: [kept, later] }))).toBe('done')
  expect(world.unread('bob')).toEqual([])
})

test('the cursor moves past read and own messages, and stops at the first unread one', () => {
  world.cast('cy')
  const cursor = () =>
    world.store.database
      .prepare(
        "SELECT cursor FROM members JOIN agents a ON a.key = agent JOIN conversations c ON c.key = conversation WHERE a.name = 'bob' AND c.name = '#general'",
      )
      .get()?.[0]
  const [one, two, , four] = ['ada', 'ada', 'bob', 'cy'].map((by) => world.send(by, '#general')) as [
    string,
    string,
    string,
    string,
  ]
  world.give('inbox.read', 'bob', { messages: [two, four] })
  expect(cursor()).toBe(0)
  world.give('inbox.read', 'bob', { messages: [one] })
  expect(cursor()).toBe(4)
  // At every 64th of one's own it moves by itself, but never past another's.
  for (let i = 0; i < 60; i++) world.send('bob', '#general')
  expect(cursor()).toBe(64)
  const other = world.send('ada', '#general')
  for (let i = 0; i < 70; i++) world.send('bob', '#general')
  expect(cursor()).toBe(64)
  expect(world.unread('bob').includes(other)).toBe(true)
})

test('the messages of a lost answer are free at once, if the session still holds them', () => {
  const lost = new CoreWorld().cast('ada', 'bob')
  lost.live.add('s1').add('s2')
  const id = lost.send('ada', 'bob')
  lost.take('bob', 's1')
  expect(lost.take('bob', 's2').messages).toEqual([])
  lost.give('inbox.let-go', 'bob', { messages: [id] }, 's2')
  expect(lost.take('bob', 's2').messages).toEqual([])
  lost.give('inbox.let-go', 'bob', { messages: [id, 'm_unknown'] }, 's1')
  expect(lost.take('bob', 's2').messages).toEqual([id])
  // The one who lost it comes late: another has it now.
  expect(typesOf(lost.give('inbox.let-go', 'bob', { messages: [id] }, 's1'))).toEqual([])
  expect(lost.take('bob', 's1').messages).toEqual([])
})
