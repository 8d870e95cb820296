// Sending and reacting, in channels too: the recipients of each address, and every refusal.

import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { addressOf, directKey, directMembers } from '../../src/core/conversations.ts'
import { addressOfReply } from '../../src/core/messages.ts'
import { nearestNames } from '../../src/core/nearest.ts'
import { CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'bob', 'cy')
  world.give('channel.create', 'bob', { channel: '#build' })
})

describe('who gets a message for each form of address', () => {
  test.each<[to: string | string[], answered: string | string[], facts: string[]]>([
    ['bob', 'bob', ['conversation.opened', 'message.created']],
    [['bob'], 'bob', ['conversation.opened', 'message.created']],
    [
      ['cy', 'bob', 'ada', 'cy'],
      ['bob', 'cy'],
      ['conversation.opened', 'message.created'],
    ],
    ['#general', '#general', ['message.created']],
    ['#build', '#build', ['channel.joined', 'message.created']],
    ['*', '*', ['message.created']],
  ])('%j', (to, answered, facts) => {
    const sent = world.give('message.send', 'ada', { to, body: 'x' })
    expect(typesOf(sent)).toEqual(facts)
    expect(outcomeOf(sent)).toMatchObject({ to: answered })
  })

  test('a sender without an inbox here can write to a channel and does not join it', () => {
    expect(typesOf(world.give('message.send', 'other:eve', { to: '#build', body: 'x' }))).toEqual(['message.created'])
    expect(typesOf(world.give('message.send', 'agent-relay', { to: '#build', body: 'x' }))).toEqual(['message.created'])
    expect(world.unread('bob')).toHaveLength(2)
  })
})

describe('where a reply without an address goes', () => {
  const addressFor = (by: string, message: string) => addressOfReply(world.store.view, by, message)

  test.each<[to: string | string[], by: string, answer: string | string[]]>([
    ['bob', 'bob', 'ada'],
    ['bob', 'ada', 'bob'],
    [['bob', 'cy'], 'cy', ['ada', 'bob']],
    ['#general', 'cy', '#general'],
    // All would hear every answer to a broadcast, so its sender does; the sender itself goes on speaking to all.
    ['*', 'cy', 'ada'],
    ['*', 'ada', '*'],
  ])('to a message of ada to %j, by %s', (to, by, answer) => {
    expect(addressFor(by, world.send('ada', to))).toEqual({ to: answer })
  })

  test('an agent that cannot see a message cannot answer it', () => {
    const message = world.send('ada', 'bob')
    for (const [by, id] of [
      ['cy', message],
      ['bob', 'm_none'],
    ] as const)
      expect(addressFor(by, id)).toMatchObject({ refusal: { code: 'message.unknown' } })
  })
})

describe('refusals', () => {
  type Give = (w: CoreWorld) => ReturnType<CoreWorld['give']>
  const send =
    (to: string | string[], more = {}): Give =>
    (w) =>
      w.give('message.send', 'ada', { to, body: 'x', ...more })
  test.each<[why: string, give: Give, code: string]>([
    ['nobody', send('bbo'), 'agent.unknown'],
    ['one of several', send(['bob', 'nobody']), 'agent.unknown'],
    ['no channel', send('#nope'), 'channel.unknown'],
    ['oneself', send('ada'), 'message.to-self'],
    ['oneself, as a group', send(['ada', 'ada']), 'message.to-self'],
    ['a reply to nothing', send('bob', { replyTo: 'm_none' }), 'message.unknown'],
    [
      'reacting to nothing',
      (w) => w.give('message.react', 'ada', { message: 'm_none', emoji: '+1' }),
      'message.unknown',
    ],
    ['making a channel twice', (w) => w.give('channel.create', 'ada', { channel: '#build' }), 'channel.exists'],
    ['leaving where one is not', (w) => w.give('channel.leave', 'ada', { channel: '#build' }), 'channel.not-member'],
    ['leaving what is not', (w) => w.give('channel.leave', 'ada', { channel: '#nope' }), 'channel.unknown'],
    ['leaving #general', (w) => w.give('channel.leave', 'ada', { channel: '#general' }), 'channel.permanent'],
    ['taking from no channel', (w) => w.give('inbox.take', 'ada', { channel: '#nope' }), 'channel.unknown'],
    ['reading nothing', (w) => w.give('inbox.read', 'ada', { messages: ['m_none'] }), 'message.unknown'],
    [
      'offering nothing',
      (w) => w.give('inbox.offer', 'ada', { messages: ['m_none'], route: 'push' }),
      'message.not-yours',
    ],
  ])('%s', (_why, give, code) => {
    const before = world.store.journal.lastSeq
    expect(codeOf(give(world))).toBe(code)
    expect(world.store.journal.lastSeq).toBe(before)
  })

  test('messages that are not addressed to the caller', () => {
    const message = world.send('ada', 'bob')
    for (const by of ['ada', 'cy']) {
      expect(codeOf(world.give('inbox.read', by, { messages: [message] }))).toBe('message.not-yours')
      expect(codeOf(world.give('inbox.offer', by, { messages: [message], route: 'push' }))).toBe('message.not-yours')
    }
    expect(codeOf(world.give('message.react', 'cy', { message, emoji: '+1' }))).toBe('message.unknown')
    expect(codeOf(world.give('message.send', 'cy', { to: 'ada', body: 'x', replyTo: message }))).toBe('message.unknown')
  })
})

test('a thread named by the id of a message that the sender cannot see is only a name', () => {
  const message = world.send('ada', 'bob')
  const other = world.send('cy', 'ada', { thread: message })
  expect(world.store.view.message(other)).toMatchObject({ thread: message })
  expect(world.store.view.message(other)?.replyTo).toBeUndefined()
})

test('a pair that talks too fast is told when it may go on', () => {
  const say = (by: string, to: string) => world.give('message.send', by, { to, body: 'x', pairPerMinuteMax: 3 })
  const start = world.at
  for (const [by, to] of [
    ['ada', 'bob'],
    ['bob', 'ada'],
    ['ada', 'bob'],
  ] as const) {
    expect(codeOf(say(by, to))).toBe('done')
    world.at += 1_000
  }
  const refused = say('bob', 'ada')
  expect(refused).toMatchObject({
    refusal: { code: 'message.too-many', retry: true, details: { count: 3, to: 'ada', seconds: 57 } },
  })
  expect(codeOf(say('ada', 'cy'))).toBe('done')
  expect(codeOf(say('ada', '#general'))).toBe('done')
  world.at = start + 60_000
  expect(codeOf(say('bob', 'ada'))).toBe('done')
  // What was said while the clock ran ahead holds nobody up when it is right again.
  world.at = start - 3_600_000
  for (let n = 0; n < 3; n++) expect(codeOf(say('ada', 'bob'))).toBe('done')
  expect(codeOf(say('ada', 'bob'))).toBe('message.too-many')
})

test('a refusal names a few near names, however they are written', () => {
  const names = ['reviewer', 'Reviewer-2', 'builder', 'ada', 'bob', 'revewier']
  expect(nearestNames('reviwer', names)).toEqual(['reviewer', 'revewier'])
  expect(nearestNames('REVIEWER', names)[0]).toBe('reviewer')
  expect(nearestNames('bbo', names)).toEqual(['bob'])
  expect(nearestNames('zzzzzz', names)).toEqual([])
})

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,8}$/)

test('a conversation has one name whoever writes first, and the name says who is in it', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 5 }), fc.nat(), (names, turn) => {
      const turned = [...names.slice(turn % names.length), ...names.slice(0, turn % names.length)]
      expect(directKey(turned)).toBe(directKey(names))
      expect(directMembers(directKey(names))).toEqual([...names].sort())
      const others = addressOf(directKey(names), names[0] as string)
      expect([others].flat().sort()).toEqual(names.slice(1).sort())
    }),
  )
})
