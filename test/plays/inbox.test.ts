// The inbox: looking, taking, when a message counts as read, and messages whose taker does not come back.

import { expect } from 'vitest'
import { messageHoldMs } from '../../packages/relay/src/core/inbox.ts'
import { bodiesOf, eventually, play, refused } from './play.ts'

play('a message that was taken counts as read at the next call of its taker', async ({ ada, bob }) => {
  await ada.send('bob', 'one')
  await bob.takes('one')
  await ada.send('bob', 'two')
  expect(await bob.call('inbox.count', {})).toMatchObject({ total: 1, kinds: { free: 1 }, sources: { ada: 1 } })
  await bob.takes('two')
  await bob.takes()
  await bob.peeksAt({ unreadOnly: false }, 'one', 'two')
})

play('an offer that nobody answered comes back', async ({ ada, bob, clock, enter }) => {
  await ada.send('bob', 'review 12?')
  const other = await enter({ name: 'bob', token: bob.token })
  await other.takes('review 12?') // and says nothing
  await bob.takes()
  await clock.passes(messageHoldMs - 1)
  await bob.takes()
  await clock.passes(2)
  await bob.takes('review 12?')
})

play('messages that a session was handed are free when the session vanishes', async ({ ada, bob, enter }) => {
  const other = await enter({ name: 'bob', token: bob.token })
  await ada.send('bob', 'one')
  await other.takes('one')
  await bob.takes()
  await other.leaves()
  await bob.takesSoon('one')
  await bob.takes()
})

play('two sessions of one agent never hold the same message', async ({ ada, bob, enter }) => {
  const other = await enter({ name: 'bob', token: bob.token })
  for (const body of ['1', '2', '3', '4']) await ada.send('bob', body)
  const takes = [bob.takesOf({ limit: 2 }, '1', '2'), other.call('inbox.take', {})]
  const [, rest] = (await Promise.all(takes)) as [unknown, { messages: { body: string }[] }]
  expect(bodiesOf(rest.messages).every((body) => body === '3' || body === '4')).toBe(true)
  // Looking back shows what the other holds, and does not take it over.
  await bob.peeksAt({ unreadOnly: false }, '1', '2', '3', '4')
  await bob.takesOf({ unreadOnly: false }, '1', '2', '3', '4')
  await bob.comesBack()
  await other.leaves()
  await bob.takesSoon('3', '4')
})

play('looking with inbox.peek hands out nothing', async ({ ada, bob }) => {
  await ada.send('bob', 'one')
  const [message] = await bob.peeks('one')
  expect(message?.receipt).toBe('stored')
  await bob.comesBack()
  await bob.peeks('one')
  await bob.takes('one')
})

play('marking read by message and by thread', async ({ ada, bob, cy }) => {
  const one = await ada.send('bob', 'one')
  await ada.send('bob', 'two', { thread: 't' })
  await cy.send('bob', 'three', { thread: 't' })
  await ada.send('bob', 'four')
  expect(await bob.reads([one.id])).toBe(1)
  expect(await bob.reads([one.id])).toBe(0)
  expect(await bob.reads({ thread: 't' })).toBe(2)
  await bob.takes('four')
  await refused(cy.call('inbox.read', { messages: [one.id] }), 'message.not-yours', /not addressed to you/)
  await refused(cy.call('inbox.read', { messages: ['m_none'] }), 'message.unknown', /m_none/)
})

play('looking back goes on before the first message of a page, through all conversations', async ({ ada, bob, cy }) => {
  const said = await Promise.all(['one', 'two', 'three'].map((body) => ada.send('bob', body)))
  await ada.send('#general', 'four')
  await cy.send('bob', 'five')
  const hidden = await ada.send('cy', 'not yours')
  await bob.takes('one', 'two', 'three', 'four', 'five')
  const page = async (before?: string) => {
    const { messages, more } = await bob.call('inbox.take', { unreadOnly: false, limit: 2, before })
    return { bodies: bodiesOf(messages), first: messages[0]?.id, more }
  }
  const newest = await page()
  expect(newest).toMatchObject({ bodies: ['four', 'five'], more: 3 })
  const middle = await page(newest.first)
  expect(middle).toMatchObject({ bodies: ['two', 'three'], more: 1 })
  const oldest = await page(middle.first)
  expect(oldest).toMatchObject({ bodies: ['one'], more: 0 })
  expect(await page(oldest.first)).toMatchObject({ bodies: [], more: 0 })
  // With `before` alone, too; and nothing is told of what another was sent.
  await bob.peeksAt({ before: said[1]?.id }, 'one')
  for (const op of ['inbox.take', 'inbox.peek'] as const)
    await refused(bob.call(op, { before: hidden.id }), 'message.unknown', /is known to you/)
})

play('filters: from, channel, thread, limit', async ({ ada, bob, cy }) => {
  await bob.call('channel.create', { channel: '#build' })
  await ada.send('bob', 'a1')
  await cy.send('bob', 'c1', { thread: 't' })
  await ada.send('#build', 'a2', { thread: 't', kind: 'status' })
  await cy.send('#general', 'c2', { kind: 'directive' })
  await bob.peeksAt({ from: 'ada' }, 'a1', 'a2')
  await bob.peeksAt({ channel: '#build' }, 'a2')
  await bob.peeksAt({ thread: 't' }, 'c1', 'a2')
  await bob.peeksAt({ thread: 't', from: 'cy' }, 'c1')
  expect(await bob.call('inbox.count', {})).toEqual({
    total: 4,
    kinds: { free: 2, status: 1, directive: 1 },
    sources: { ada: 1, cy: 1, '#build': 1, '#general': 1 },
    newest: (await bob.peeks('a1', 'c1', 'a2', 'c2'))[3]?.seq,
  })
  expect((await bob.call('inbox.take', { limit: 3 })).more).toBe(1)
  await bob.takes('c2')
})

play('a page ends by bytes, and says how many more wait', async ({ ada, bob }) => {
  const large = 'x'.repeat(200 * 1024)
  for (const number of [1, 2, 3]) await ada.send('bob', `${number}${large}`)
  const first = await bob.call('inbox.take', {})
  expect([first.messages.length, first.more]).toEqual([2, 1])
  const second = await bob.call('inbox.take', {})
  expect([second.messages.length, second.more]).toEqual([1, 0])
  expect([...first.messages, ...second.messages].map(({ body }) => body[0])).toEqual(['1', '2', '3'])
})

play('a session that follows its inbox gets each message, and marks it as read', async ({ ada, bob, clock }) => {
  await ada.send('bob', 'before')
  const ear = bob.listens()
  await clock.passes(0)
  await ear.hears('before')
  const { id } = await ada.send('bob', 'now')
  await ada.send('#general', 'and here')
  await ear.hears('before', 'now', 'and here')
  await eventually(async () => expect((await ada.receipts(id)).bob).toMatchObject({ state: 'read', route: 'deliver' }))
  ear.stop()
  await ada.send('bob', 'not heard')
  expect(bodiesOf(await bob.client.getInbox())).toEqual(['not heard'])
})

play('a session that follows its inbox gets what another held too long', async ({ ada, bob, clock, enter }) => {
  const other = await enter({ name: 'bob', token: bob.token })
  await ada.send('bob', 'one')
  await other.takes('one') // and says nothing
  const ear = bob.listens()
  await clock.passes(0)
  await ada.send('bob', 'two')
  await ear.hears('two')
  await clock.passes(messageHoldMs + 30_000)
  await ear.hears('two', 'one')
})

play('an agent whose inbox is followed is woken; any other is reached at its next call', async ({ ada, bob }) => {
  const reached = async () => (await ada.call('agent.list', {})).agents.find(({ name }) => name === 'bob')?.reached
  expect(await reached()).toBe('at next call')
  bob.listens()
  await eventually(async () => expect(await reached()).toBe('wakes'))
})

play('a message that was shown by push stays in the inbox, tagged, until it is read', async ({ ada, bob }) => {
  const { id } = await ada.send('bob', 'look')
  expect(await bob.call('inbox.offer', { messages: [id], route: 'push' })).toEqual({ offered: 1 })
  expect((await bob.peeks('look'))[0]).toMatchObject({ receipt: 'offered', route: 'push' })
  await bob.comesBack()
  expect((await bob.takes('look'))[0]).toMatchObject({ receipt: 'offered', route: 'take' })
  await bob.comesBack()
  expect(await bob.call('inbox.offer', { messages: [id], route: 'paste' })).toEqual({ offered: 0 })
  await refused(ada.call('inbox.offer', { messages: [id], route: 'hook' }), 'message.not-yours', /not addressed to you/)
})

play('a take that is sent again under its id gets the same answer and holds nothing twice', async ({ ada, bob }) => {
  await ada.send('bob', 'one')
  const first = await bob.call('inbox.take', {}, 'take-1')
  await ada.send('bob', 'two')
  const again = await bob.call('inbox.take', {}, 'take-1')
  expect(bodiesOf(again.messages)).toEqual(bodiesOf(first.messages))
  await bob.takes('two')
})
