// Past messages: conversations with their last message, their history in pages, an agent's mail, and the right to see each.

import { expect } from 'vitest'
import { bodiesOf, play, refused } from './play.ts'

play(
  'conversations come with their last message and what is unread, newest first',
  async ({ ada, bob, cy, enter, key }) => {
    await ada.call('channel.create', { channel: '#ops' })
    await ada.send('#ops', 'one')
    await ada.send('bob', 'two')
    await ada.send('bob', 'x'.repeat(1_000))
    const listed = async (actor: typeof ada) => (await actor.call('conversation.list', {})).conversations
    const bobs = await listed(bob)
    expect(bobs[0]).toMatchObject({ name: '@ada,bob', members: ['ada', 'bob'], messages: 2, joined: true, unread: 2 })
    expect(bobs[0]?.last).toMatchObject({ from: 'ada', to: 'bob', preview: 'x'.repeat(200) })
    // A channel is known to all, what was said in it to its members.
    expect(bobs.find(({ name }) => name === '#ops')).toEqual({
      name: '#ops',
      members: 1,
      messages: 1,
      joined: false,
      unread: 0,
    })
    expect((await listed(cy)).some(({ name }) => name === '@ada,bob')).toBe(false)
    const kim = await enter({ name: 'kim', type: 'human', key: key() })
    expect((await listed(kim)).find(({ name }) => name === '#ops')?.last?.preview).toBe('one')
    expect((await listed(kim))[0]).toMatchObject({ name: '@ada,bob', joined: false, unread: 0 })
    expect(await kim.call('conversation.list', { limit: 1 })).toMatchObject({ more: expect.any(Number) })
  },
)

play('history is read by numbers from either end, and around a message', async ({ ada, bob }) => {
  const sent: string[] = []
  for (let i = 1; i <= 12; i++) sent.push((await ada.send('bob', `m${i}`)).id)
  const conversation = '@ada,bob'
  const page = async (input: object) => await bob.call('message.list', { conversation, limit: 3, ...input })
  expect(bodiesOf((await page({})).messages)).toEqual(['m10', 'm11', 'm12'])
  expect(bodiesOf((await page({ before: 10 })).messages)).toEqual(['m7', 'm8', 'm9'])
  expect(bodiesOf((await page({ after: 0 })).messages)).toEqual(['m1', 'm2', 'm3'])
  expect(await page({ after: 12 })).toEqual({ conversation, last: 12, seq: expect.any(Number), messages: [] })
  const around = await bob.call('message.list', { around: sent[5] as string, limit: 4 })
  expect(around).toMatchObject({ conversation, last: 12 })
  expect(around.messages.map(({ n }) => n)).toEqual([5, 6, 7, 8])
})

play('a page tells what became of each message', async ({ ada, bob }) => {
  const { id } = await ada.send('bob', 'look')
  const first = async (actor: typeof ada) =>
    (await actor.call('message.list', { conversation: '@ada,bob' })).messages[0]
  expect(await first(bob)).toMatchObject({ id, n: 1, offered: 0, read: 0, receipt: 'stored' })
  await bob.call('message.react', { message: id, emoji: '👀' })
  await ada.call('message.react', { message: id, emoji: '👀' })
  await bob.call('inbox.read', { messages: [id] })
  const seen = await first(ada)
  expect(seen).toMatchObject({ read: 1, reactions: [{ emoji: '👀', agents: ['bob', 'ada'] }] })
  expect(seen?.receipt).toBeUndefined()
})

play('a page stops before it is too large for an answer', async ({ ada, bob }) => {
  for (let i = 0; i < 4; i++) await ada.send('bob', `${i}${'y'.repeat(200_000)}`)
  const read = await bob.call('message.list', { conversation: '@ada,bob' })
  expect(read.messages.map(({ n }) => n)).toEqual([3, 4])
  const on = await bob.call('message.list', { conversation: '@ada,bob', after: 0 })
  expect(on.messages.map(({ n }) => n)).toEqual([1, 2])
})

play('agents see no conversation of others, and of a channel what was said while they were in it', async (stage) => {
  const { ada, bob, cy, enter, key } = stage
  const { id } = await ada.send('bob', 'between us')
  await refused(cy.call('message.list', { conversation: '@ada,bob' }), 'channel.unknown', /not found/)
  await refused(cy.call('message.list', { around: id }), 'message.unknown', /No message/)
  await ada.call('channel.create', { channel: '#ops' })
  await ada.send('#ops', 'before')
  await cy.call('channel.join', { channel: '#ops' })
  await ada.send('#ops', 'after')
  expect(bodiesOf((await cy.call('message.list', { conversation: '#ops' })).messages)).toEqual(['after'])
  const kim = await enter({ name: 'kim', type: 'human', key: key() })
  expect(bodiesOf((await kim.call('message.list', { conversation: '@ada,bob' })).messages)).toEqual(['between us'])
  await refused(bob.call('message.list', {}), 'input.invalid', /conversation/)
})

play("an agent's mail is for itself and the key's holder", async ({ ada, bob, enter, key }) => {
  await ada.send('bob', 'first')
  await ada.send('bob', 'second')
  const kim = await enter({ name: 'kim', type: 'human', key: key() })
  const inbox = await kim.call('agent.mail', { agent: 'bob', box: 'inbox' })
  expect(bodiesOf(inbox.messages)).toEqual(['first', 'second'])
  const sent = await ada.call('agent.mail', { agent: 'ada', box: 'sent', limit: 1 })
  expect(bodiesOf(sent.messages)).toEqual(['second'])
  await refused(bob.call('agent.mail', { agent: 'ada', box: 'sent' }), 'auth.denied', /for ada/)
  await refused(kim.call('agent.mail', { agent: 'nobody', box: 'inbox' }), 'agent.unknown', /not found/)
})
