// The needs of a person: one list, the same in each of their sessions, until a need is answered or dismissed.

import { expect } from 'vitest'
import { type Actor, play, refused } from './play.ts'

const person = { name: 'alice', type: 'human' } as const

const needsOf = async (actor: Actor) => (await actor.call('need.list', {})).needs
const shown = async (actor: Actor) => (await needsOf(actor)).map(({ kind, who, text }) => [kind, who, text].join(' '))

play('a message that was read stays until it is answered, in every session of the person', async (stage) => {
  const { ada, bob, enter, key } = stage
  const alice = await enter({ ...person, key: key() })
  const again = await enter({ name: 'alice', token: alice.token })
  await ada.send('alice', 'Have a look.\nThe build is red.', { kind: 'directive' })
  await ada.send('alice', 'Still red.')
  await bob.send('alice', 'All is well.', { kind: 'status' })
  const [need] = await needsOf(alice)
  expect(await needsOf(alice)).toHaveLength(1)
  expect(need).toMatchObject({
    ...{ key: 'told:@ada,alice', kind: 'mention', who: 'ada', text: 'Still red.', count: 2 },
    message: { from: 'ada', body: 'Still red.' },
  })
  expect(Date.parse(need?.since as string)).toBeLessThanOrEqual(Date.parse(need?.message?.ts as string))
  const { messages } = await alice.call('inbox.take', {})
  await alice.reads(messages.map(({ id }) => id))
  expect(await needsOf(again)).toEqual([need])
  await again.send('ada', 'I am on it.')
  expect(await needsOf(alice)).toEqual([])
  await ada.send('alice', 'Thanks?')
  expect(await needsOf(again)).toMatchObject([{ text: 'Thanks?', count: 1 }])
})

play('what was dismissed in one session is gone in the other, and what is said later is not', async (stage) => {
  const { ada, bob, enter, key } = stage
  const alice = await enter({ ...person, key: key() })
  const again = await enter({ name: 'alice', token: alice.token })
  await ada.send('alice', 'One.')
  const [need] = await needsOf(alice)
  const told = need?.key as string
  // It came after the person has looked.
  await ada.send('alice', 'Two.')
  await alice.call('need.dismiss', { key: told, through: need?.message?.seq })
  expect(await needsOf(again)).toMatchObject([{ key: told, text: 'Two.', count: 1 }])
  await again.call('need.dismiss', { key: told })
  // Twice is once.
  await alice.call('need.dismiss', { key: told })
  expect(await needsOf(alice)).toEqual([])
  await ada.send('alice', 'Three.')
  expect(await needsOf(alice)).toMatchObject([{ key: told, text: 'Three.', count: 1 }])
  // Nobody else is told, and nobody else can.
  const dismissed = async (actor: Actor) => (await actor.call('event.list', { types: ['need.dismissed'] })).events
  expect((await dismissed(alice)).map(({ fact }) => fact)).toMatchObject([{ key: told }, { key: told }])
  expect(await dismissed(ada)).toEqual([])
  await refused(bob.call('need.dismiss', { key: told }), 'need.unknown', /no need "told:@ada,alice"/)
  await refused(alice.call('need.dismiss', { key: 'approval:ap-1' }), 'need.unknown', /ap-1/)
  await refused(alice.call('need.dismiss', { key: '' }), 'input.invalid', /key/)
})

play('a question in a channel that names a person is a question to that person', async ({ ada, bob, enter, key }) => {
  const alice = await enter({ ...person, key: key(), channels: ['#build'] })
  for (const actor of [ada, bob]) await actor.call('channel.join', { channel: '#build' })
  await ada.send('#build', 'alice, may I drop the table?', { kind: 'question' })
  await ada.send('#build', 'Who has the key?', { kind: 'question' })
  await ada.send('#build', 'alicette and not-@alice: which one?', { kind: 'question' })
  await bob.send('#build', 'I have asked alice already.')
  await bob.send('#build', '@alice: it is urgent.')
  await bob.send('alice', 'Or here?', { kind: 'question' })
  expect(await shown(alice)).toEqual([
    'question ada alice, may I drop the table?',
    'question bob Or here?',
    'mention bob @alice: it is urgent.',
  ])
  expect(await needsOf(ada)).toEqual([])
  await alice.send('#build', 'No.')
  expect(await shown(alice)).toEqual(['question bob Or here?'])
  await alice.send('bob', 'Yes.')
  expect(await needsOf(alice)).toEqual([])
})

play('a person is named in a channel that they are not in, and is told only what they may see', async (stage) => {
  const { ada, enter, key } = stage
  const alice = await enter({ ...person, key: key() })
  const byToken = await enter({ name: 'alice', token: alice.token })
  await ada.call('channel.create', { channel: '#build' })
  await ada.send('#build', '@alice: the build is red.')
  expect(await shown(alice)).toEqual(['mention ada @alice: the build is red.'])
  expect(await needsOf(byToken)).toEqual([])
  // Whoever comes in because of it has not answered yet.
  await alice.call('channel.join', { channel: '#build' })
  expect(await shown(alice)).toEqual(['mention ada @alice: the build is red.'])
  await alice.send('#build', 'I see.')
  expect(await needsOf(alice)).toEqual([])
})

play('a question is dismissed by itself, and is not a message to the person then', async ({ ada, enter, key }) => {
  const alice = await enter({ ...person, key: key() })
  const { id } = await ada.send('alice', 'Now?', { kind: 'question' })
  await ada.send('alice', 'Then?', { kind: 'question' })
  await alice.call('need.dismiss', { key: `question:${id}` })
  expect(await shown(alice)).toEqual(['question ada Then?'])
  // To others it is owed all the same.
  expect((await alice.call('inbox.owed', {})).messages).toHaveLength(2)
})

play('a long list says how much it leaves out', async ({ ada, bob, enter, key }) => {
  const alice = await enter({ ...person, key: key() })
  await ada.send('alice', 'One.')
  await bob.send('alice', 'Two.')
  expect(await alice.call('need.list', { limit: 1 })).toMatchObject({ needs: [{ text: 'One.' }], more: 1 })
  await refused(alice.call('need.list', { limit: 0 }), 'input.invalid', /limit/)
})
