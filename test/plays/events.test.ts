// Events: every fact with its number, to those who may see it; listed, followed, and resumed without a gap.

import { expect } from 'vitest'
import { eventually, play, playOnOneMachine, playOnSocket } from './play.ts'

const types = (events: { type: string }[]) => events.map(({ type }) => type)

play('every fact of a message is an event with a number', async ({ ada, bob }) => {
  const { next } = await ada.call('event.list', { limit: 1_000 })
  const { id, seq } = await ada.send('bob', 'hello')
  await bob.takes('hello')
  await bob.comesBack()
  const { events, next: after } = await ada.call('event.list', { since: next })
  expect(types(events)).toEqual(['conversation.opened', 'message.created', 'delivery.offered', 'delivery.read'])
  expect(events[1]).toMatchObject({ seq, by: 'ada', message: { id, body: 'hello', from: 'ada', to: 'bob' } })
  expect(events[2]).toMatchObject({ by: 'bob', fact: { message: id, agent: 'bob', route: 'take' } })
  expect(after).toBe(events.at(-1)?.seq)
  const [message] = (await ada.call('event.list', { since: next, types: ['message.*'] })).events
  expect(message?.type).toBe('message.created')
})

play('an agent sees its own conversations, the key holder sees all', async ({ ada, bob, cy, enter, key }) => {
  const { id } = await ada.send('bob', 'between us')
  await bob.reads([id])
  await ada.send('#general', 'for all')
  const seen = async (actor: typeof ada) =>
    (await actor.call('event.list', { limit: 1_000 })).events.filter(({ type }) => /^(message|delivery)/.test(type))
  expect((await seen(cy)).map(({ message }) => message?.body)).toEqual(['for all'])
  expect(types(await seen(bob))).toEqual(['message.created', 'delivery.read', 'message.created'])
  const holder = await enter({ key: key() })
  expect((await seen(holder)).map(({ message }) => message?.body)).toEqual(['between us', undefined, 'for all'])
  // No hash of a secret leaves, not even to the owner.
  const { events } = await holder.call('event.list', { limit: 1_000 })
  expect(JSON.stringify(events)).not.toMatch(/hash/)
  // A session without an agent sees who is online, and no message.
  const nobody = await enter({})
  expect(await seen(nobody)).toEqual([])
  expect(types((await nobody.call('event.list', { limit: 1_000 })).events)).toContain('agent.registered')
})

play('a page of events ends between entries', async ({ ada, bob }) => {
  for (const body of ['1', '2', '3']) await ada.send('#general', body)
  await bob.takes('1', '2', '3')
  const all = (await ada.call('event.list', { limit: 1_000 })).events
  const paged = []
  for (let since = 0; ; ) {
    const { events, next } = await ada.call('event.list', { since, limit: 2 })
    if (events.length === 0) break
    paged.push(...events)
    since = next
  }
  expect(paged).toEqual(all)
})

play('following from now, and from a number', async ({ ada, bob, cy }) => {
  await ada.send('bob', 'before')
  const { events: fromNow } = await bob.watches({ types: ['message.created'] })
  const { events: fromStart } = await bob.watches({ since: 0, types: ['message.created'] })
  const stranger = await cy.watches({ since: 0, types: ['message.created'] })
  await ada.send('bob', 'after')
  await eventually(() => expect(fromNow.map(({ message }) => message?.body)).toEqual(['after']))
  await eventually(() => expect(fromStart.map(({ message }) => message?.body)).toEqual(['before', 'after']))
  await ada.send('#general', 'all')
  await eventually(() => expect(stranger.events.map(({ message }) => message?.body)).toEqual(['all']))
  stranger.stop()
  await ada.send('#general', 'gone')
  await eventually(() => expect(fromNow).toHaveLength(3))
  expect(stranger.events).toHaveLength(1)
})

playOnSocket('a watch goes on without a gap when the daemon is started again', async ({ ada, bob, house }) => {
  const { events } = await bob.watches({ types: ['message.created'] })
  await ada.send('bob', '1')
  await eventually(() => expect(events).toHaveLength(1))
  await house.stop()
  await house.start()
  await ada.send('bob', '2')
  await ada.send('bob', '3')
  await eventually(() => expect(events.map(({ message }) => message?.body)).toEqual(['1', '2', '3']))
})

playOnOneMachine(
  'who connects and who leaves is told to whoever asks for it, and is in no journal',
  async ({ ada, bob, enter }) => {
    const [sessions, all] = [await ada.watches({ types: ['session.event', 'message.created'] }), await bob.watches({})]
    const told = () => sessions.events.filter(({ type }) => type === 'session.event')
    const guest = await enter({ name: 'guest' })
    await eventually(() =>
      expect(told()).toMatchObject([{ seq: 0, by: 'guest', fact: { agent: 'guest', state: 'connected' } }]),
    )
    // What is in the journal still comes once and in its order.
    const { id } = await guest.send('ada', 'here I am')
    await ada.takes('here I am')
    await guest.leaves()
    await eventually(() => expect(told()[1]).toMatchObject({ fact: { agent: 'guest', state: 'away' } }))
    await enter({ name: 'guest' })
    await eventually(() => expect(told()).toHaveLength(3))
    expect(sessions.events.filter(({ message }) => message).map(({ message }) => message?.id)).toEqual([id])
    expect(all.events.filter(({ type }) => type === 'session.event')).toEqual([])
    const { events } = await ada.call('event.list', { since: 0, types: ['session.event'] })
    expect(events).toEqual([])
    for (const { stop } of [sessions, all]) stop()
  },
)
