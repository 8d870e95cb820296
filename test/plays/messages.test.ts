// Sending: to one, to several, to a channel, to all; threads, replies, reactions; and addresses without a recipient.

import { expect } from 'vitest'
import { bodiesOf, play, refused } from './play.ts'

play('a direct message reaches one agent, and nobody else', async ({ ada, bob, cy }) => {
  const sent = await ada.send('bob', 'hello', { kind: 'question' })
  expect(sent).toMatchObject({ to: 'bob', away: [] })
  const [message] = await bob.takes('hello')
  expect(message).toMatchObject({
    id: sent.id,
    seq: sent.seq,
    from: 'ada',
    to: 'bob',
    kind: 'question',
    receipt: 'offered',
  })
  await cy.takes()
  await ada.takes()
})

play('a group has one conversation, whoever writes', async ({ ada, bob, cy }) => {
  expect(await ada.send(['cy', 'bob', 'cy', 'ada'], 'all three')).toMatchObject({ to: ['bob', 'cy'] })
  await bob.send(['ada', 'cy'], 'heard')
  await cy.takes('all three', 'heard')
  await bob.takes('all three')
  await ada.takes('heard')
})

play('a channel reaches those who are in it, from when they came', async ({ ada, bob, cy }) => {
  await ada.call('channel.create', { channel: 'build' })
  await bob.call('channel.join', { channel: '#build' })
  await ada.send('#build', 'one')
  await cy.call('channel.join', { channel: 'build' })
  await ada.send('#build', 'two')
  await bob.takes('one', 'two')
  await cy.takes('two')
  const { channels } = await cy.call('channel.list', {})
  expect(channels).toEqual([
    { name: '#build', members: 3, messages: 2, joined: true },
    { name: '#general', members: 3, messages: 0, joined: true },
  ])
})

play('an agent that leaves a channel keeps its unread messages, also when it comes back', async ({ ada, bob }) => {
  expect(await bob.call('channel.join', { channel: '#build', create: true })).toMatchObject({ created: true })
  await ada.send('#build', 'one')
  await bob.call('channel.leave', { channel: '#build' })
  await ada.send('#build', 'two')
  await bob.peeks('one')
  await bob.call('channel.join', { channel: '#build' })
  await ada.send('#build', 'three')
  await bob.takes('one', 'three')
  await refused(bob.call('channel.leave', { channel: '#general' }), 'channel.permanent', /cannot be left/)
  await bob.call('channel.leave', { channel: '#build' })
  await refused(
    bob.call('channel.leave', { channel: '#build' }),
    'channel.not-member',
    /To enter it: relay\.channels\.join\('build'\)/,
  )
  await refused(bob.call('channel.leave', { channel: '#nope' }), 'channel.unknown', /#build, #general/)
  await refused(bob.call('channel.create', { channel: '#build' }), 'channel.exists', /exists already/)
})

play('everyone here gets a broadcast, an agent that comes later does not', async ({ ada, bob, cy, enter }) => {
  await cy.leaves()
  expect(await ada.send('*', 'all hands')).toMatchObject({ to: '*', away: [] })
  await bob.takes('all hands')
  await ada.takes()
  await (await enter({ name: 'dee' })).takes()
  await (await enter({ name: 'cy' })).takes('all hands')
})

play('sending to a channel joins it, and so does asking for its inbox', async ({ ada, bob, cy }) => {
  await ada.call('channel.create', { channel: '#build' })
  await ada.send('#build', 'before')
  await bob.send('#build', 'may I?')
  await cy.takesOf({ channel: '#build' })
  await ada.send('#build', 'both of you')
  await bob.takes('both of you')
  await cy.takesOf({ channel: 'build' }, 'both of you')
  expect((await ada.call('channel.list', {})).channels[0]).toMatchObject({ name: '#build', members: 3 })
})

play('sending to an unknown name is refused with the nearest names, and nothing is stored', async ({ ada, enter }) => {
  await enter({ name: 'reviewer' })
  const error = await refused(
    ada.send('reviwer', 'x'),
    'agent.unknown',
    /Agent not found: reviwer\. Did you mean reviewer\?/,
  )
  expect(error.details).toMatchObject({ name: 'reviwer', nearest: ['reviewer'] })
  await refused(ada.send(['bob', 'zzz'], 'x'), 'agent.unknown', /Agent not found: zzz\./)
  await refused(ada.send('ada', 'x'), 'message.to-self', /reach nobody/)
  expect(await ada.call('workspace.status', {})).toMatchObject({ messages: 0, agents: 4, agent: 'ada' })
})

play('sending to an unknown channel is refused with the names of channels', async ({ ada }) => {
  await ada.call('channel.create', { channel: '#build' })
  await refused(ada.send('#biuld', 'x'), 'channel.unknown', /#biuld\. There are #build, #general\. To make it/)
  await refused(ada.call('inbox.take', { channel: 'nope' }), 'channel.unknown', /#nope/)
  await refused(ada.call('inbox.peek', { channel: 'nope' }), 'channel.unknown', /#nope/)
})

play('a channel is made on purpose only: by create, or by a send or a join that says so', async ({ ada, bob }) => {
  await refused(
    bob.call('channel.join', { channel: '#biuld' }),
    'channel.unknown',
    /To make it: relay\.channels\.create\('biuld'\)/,
  )
  await ada.send('#build', 'one', { create: true })
  await ada.send('#build', 'two', { create: true })
  expect((await bob.call('channel.list', {})).channels).toEqual([
    { name: '#build', members: 1, messages: 2, joined: false },
    { name: '#general', members: 3, messages: 0, joined: true },
  ])
  expect(await bob.call('channel.join', { channel: '#build' })).toEqual({ channel: '#build' })
  await refused(ada.send('#no good', 'x', { create: true }), 'input.invalid', /a channel is # and/)
})

play('a channel can be removed by its maker as long as it was not used', async ({ ada, bob }) => {
  const remove = (who: typeof ada, channel: string) => who.call('channel.remove', { channel })
  await ada.call('channel.create', { channel: '#biuld' })
  await refused(remove(bob, '#biuld'), 'channel.in-use', /ada has joined it/)
  await ada.call('channel.leave', { channel: '#biuld' })
  expect(await remove(ada, 'biuld')).toEqual({ channel: '#biuld' })
  await refused(ada.send('#biuld', 'x'), 'channel.unknown', /There is #general\./)
  await refused(remove(ada, '#biuld'), 'channel.unknown', /#biuld/)
  // Whoever makes it again is its maker, and what is said there reaches nobody from before.
  await bob.send('#biuld', 'mine', { create: true })
  await refused(remove(bob, '#biuld'), 'channel.in-use', /something was said in it/)
  await ada.takes()
  await ada.call('channel.create', { channel: '#lab' })
  await bob.call('channel.join', { channel: '#lab' })
  await bob.call('channel.leave', { channel: '#lab' })
  await refused(remove(ada, '#lab'), 'channel.in-use', /bob has joined it/)
  await refused(remove(ada, '#general'), 'channel.permanent', /left or removed/)
})

play('the answer to a send says who is away, and they find the message later', async ({ ada, bob, cy, enter }) => {
  await bob.leaves()
  expect(await ada.send('bob', 'later')).toMatchObject({ away: ['bob'] })
  expect(await ada.send(['bob', 'cy'], 'both')).toMatchObject({ away: ['bob'] })
  await cy.takes('both')
  await (await enter({ name: 'bob' })).takes('later', 'both')
})

play('a reply belongs to the thread of the message it answers', async ({ ada, bob, cy }) => {
  const question = await ada.send('bob', 'which port?')
  const answer = await bob.send('ada', '8080', { replyTo: question.id })
  const more = await ada.send('bob', 'thanks', { thread: answer.id })
  await ada.send('bob', 'about lunch', { thread: 'lunch' })
  const { messages } = await bob.call('message.thread', { thread: question.id })
  expect(bodiesOf(messages)).toEqual(['which port?', '8080', 'thanks'])
  expect(messages[1]).toMatchObject({ thread: question.id, replyTo: question.id })
  expect(messages[2]).toMatchObject({ id: more.id, thread: question.id, replyTo: answer.id })
  await bob.takesOf({ thread: question.id }, 'which port?', 'thanks')
  await bob.takesOf({ thread: 'lunch' }, 'about lunch')
  expect((await ada.call('message.thread', { thread: question.id, limit: 2 })).more).toBe(1)
  // What you cannot see you can neither answer nor read in its thread.
  expect((await cy.call('message.thread', { thread: question.id })).messages).toEqual([])
  await refused(cy.send('ada', 'me too', { replyTo: question.id }), 'message.unknown', /is known to you/)
})

play('an emoji is put on a message once, and taken off', async ({ ada, bob, cy }) => {
  const { id: message } = await ada.send('bob', 'done')
  const before = (await ada.call('event.list', {})).next
  for (const remove of [false, false, true, true]) await bob.call('message.react', { message, emoji: '+1', remove })
  const { events } = await ada.call('event.list', { since: before, types: ['reaction.*'] })
  expect(events).toMatchObject([
    { type: 'reaction.added', fact: { agent: 'bob', emoji: '+1' } },
    { type: 'reaction.removed', fact: { agent: 'bob', emoji: '+1' } },
  ])
  await refused(cy.call('message.react', { message, emoji: '+1' }), 'message.unknown', /is known to you/)
})

play('the same id is the same message, however often it is sent', async ({ ada, bob }) => {
  const first = await ada.send('bob', 'once', { id: 'send-1' })
  expect(await ada.send('bob', 'once', { id: 'send-1' })).toEqual(first)
  await refused(
    ada.send('bob', 'other words', { id: 'send-1' }),
    'call.reused',
    /send-1 was already used for another call/,
  )
  // Another sender's id is another id.
  await bob.send('ada', 'mine', { id: 'send-1' })
  await bob.takes('once')
  await ada.takes('mine')
})
