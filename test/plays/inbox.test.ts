// The inbox: looking, taking, when a thing counts as read, and what happens to it if its taker does not come back.

import { expect } from 'vitest'
import { offerMs } from '../../packages/relay/src/core/inbox.ts'
import { bodiesOf, eventually, play, refused } from './play.ts'

play('what was taken counts as read when the taker comes back', async ({ ada, bob }) => {
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
  await clock.passes(offerMs - 1)
  await bob.takes()
  await clock.passes(2)
  await bob.takes('review 12?')
})

play('what a session was handed is free when it vanishes', async ({ ada, bob, enter }) => {
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

play('peeking hands out nothing', async ({ ada, bob }) => {
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

play('filters: from, channel, thread, limit', async ({ ada, bob, cy }) => {
  await bob.call('channel.join', { channel: '#build' })
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

play('each message comes by itself to who follows, and is read when that is said', async ({ ada, bob, clock }) => {
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

play('who follows is also brought what another session held too long', async ({ ada, bob, clock, enter }) => {
  const other = await enter({ name: 'bob', token: bob.token })
  await ada.send('bob', 'one')
  await other.takes('one') // and says nothing
  const ear = bob.listens()
  await clock.passes(0)
  await ada.send('bob', 'two')
  await ear.hears('two')
  await clock.passes(offerMs + 30_000)
  await ear.hears('two', 'one')
})

play('what was put before an agent by push stays in the inbox, tagged, until read', async ({ ada, bob }) => {
  const { id } = await ada.send('bob', 'look')
  expect(await bob.call('inbox.offer', { messages: [id], route: 'push' })).toEqual({ offered: 1 })
  expect((await bob.peeks('look'))[0]).toMatchObject({ receipt: 'offered', route: 'push' })
  await bob.comesBack()
  expect((await bob.takes('look'))[0]).toMatchObject({ receipt: 'offered', route: 'take' })
  await bob.comesBack()
  expect(await bob.call('inbox.offer', { messages: [id], route: 'paste' })).toEqual({ offered: 0 })
  await refused(ada.call('inbox.offer', { messages: [id], route: 'hook' }), 'message.not-yours', /not addressed to you/)
})

play('a take asked again under its id answers the same, and holds nothing twice', async ({ ada, bob }) => {
  await ada.send('bob', 'one')
  const first = await bob.call('inbox.take', {}, 'take-1')
  await ada.send('bob', 'two')
  const again = await bob.call('inbox.take', {}, 'take-1')
  expect(bodiesOf(again.messages)).toEqual(bodiesOf(first.messages))
  await bob.takes('two')
})
