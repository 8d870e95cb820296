// A sender's knowledge of a message: stored, offered by which route, read; each with its time.

import type { Receipt } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { type Actor, play, playOnSocket, refused } from './play.ts'

const noon = Date.UTC(2026, 0, 1, 12)
const at = (ms: number) => new Date(noon + ms).toISOString()

/** Without where the recipient lives, which depends on who asks. */
async function receiptsOf(actor: Actor, message: string): Promise<Record<string, Receipt>> {
  const receipts = Object.entries(await actor.receipts(message))
  return Object.fromEntries(receipts.map(([agent, { machine: _, ...receipt }]) => [agent, receipt]))
}

play('a receipt goes from stored to offered to read, with times', async ({ ada, bob, clock }) => {
  const { id } = await ada.send('bob', 'hello')
  expect(await receiptsOf(ada, id)).toEqual({ bob: { agent: 'bob', state: 'stored', storedAt: at(0) } })
  await clock.passes(1_000)
  await bob.takes('hello')
  const offered = { agent: 'bob', storedAt: at(0), offeredAt: at(1_000), route: 'take' }
  expect(await receiptsOf(ada, id)).toEqual({ bob: { ...offered, state: 'offered' } })
  await clock.passes(1_000)
  await bob.comesBack()
  expect(await receiptsOf(ada, id)).toEqual({ bob: { ...offered, state: 'read', readAt: at(2_000) } })
})

play('each recipient of a channel has its own receipt, and nobody else has one', async ({ ada, bob, cy, enter }) => {
  const { id } = await ada.send('#general', 'all')
  await enter({ name: 'dee' })
  await bob.reads([id])
  await cy.takes('all')
  const receipts = await receiptsOf(ada, id)
  expect(Object.keys(receipts)).toEqual(['bob', 'cy'])
  expect(receipts.bob).toMatchObject({ state: 'read' })
  expect(receipts.cy).toMatchObject({ state: 'offered', route: 'take' })
  expect(await receiptsOf(bob, id)).toEqual(await receiptsOf(ada, id))
})

play('an agent that is not party to a message learns nothing of it', async ({ ada, cy, enter, key }) => {
  const { id } = await ada.send('bob', 'between us')
  await refused(cy.receipts(id), 'message.unknown', /is known to you/)
  const holder = await enter({ name: 'owner', type: 'human', key: key() })
  expect((await holder.receipts(id)).bob).toMatchObject({ state: 'stored' })
})

play('the reply that ended a wait is offered by that route', async ({ ada, bob }) => {
  const reply = ada.asks('bob', 'ready?')
  await bob.takes('ready?')
  const { id } = await bob.send('ada', 'yes')
  await reply
  expect((await bob.receipts(id)).ada).toMatchObject({ state: 'offered', route: 'wait' })
  await ada.takes()
  expect((await bob.receipts(id)).ada).toMatchObject({ state: 'read' })
})

playOnSocket('receipts outlive the daemon', async ({ ada, bob, house }) => {
  const { id } = await ada.send('bob', 'hello')
  await bob.takes('hello')
  await bob.comesBack()
  const before = await ada.receipts(id)
  await house.stop()
  await house.start()
  expect(await ada.receipts(id)).toEqual(before)
})
