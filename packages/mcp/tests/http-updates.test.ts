// Resource updates over HTTP: each agent hears of its own inbox and of no other's, on every transport; and only while it listens.

import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aWhile, until } from '../../../test/until.ts'
import { type Era, eras, HttpWorld, textOf } from '../../relay/tests/wires/http-world.ts'

let world: HttpWorld
beforeEach(async () => {
  world = await HttpWorld.start()
})
afterEach(() => world.stop())

interface Listener {
  client: Client
  heard: string[]
}

async function listen(era: Era, headers: Record<string, string>, uris: string[]): Promise<Listener> {
  const client = await world.client(era, headers)
  const heard: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
  if (era === '2026') await client.listen({ resourceSubscriptions: uris })
  else for (const uri of uris) await client.subscribeResource({ uri })
  return { client, heard }
}

test('a message updates the inbox of its recipient, on the recipient’s streams alone', async () => {
  const inbox = ['relay://inbox']
  const people = ['Ada', 'Bob', 'Cyd']
  for (const name of people) await world.token(name)
  const all: (Listener & { name: string })[] = []
  for (const era of eras) for (const name of people) all.push({ name, ...(await listen(era, world.as(name), inbox)) })
  const nobody = await listen('2026', { authorization: `Bearer ${world.key}` }, inbox)
  const heardBy = (name: string) => all.filter((each) => each.name === name).map(({ heard }) => heard.length)

  await world.api('message.send', { to: 'Bob', body: 'for Bob' }, world.as('Ada'))
  await until(() => heardBy('Bob').every((count) => count === 1))
  await aWhile()
  expect([heardBy('Ada'), heardBy('Bob'), heardBy('Cyd')]).toEqual([
    [0, 0, 0],
    [1, 1, 1],
    [0, 0, 0],
  ])

  // Reading is an update too, of the same inbox: its sender hears nothing.
  const bob = all.find(({ name }) => name === 'Bob') as Listener
  expect(await textOf(bob.client, 'relay_inbox')).toContain('for Bob')
  await textOf(bob.client, 'relay_inbox')
  await until(() => heardBy('Bob').every((count) => count === 2))
  await aWhile()
  expect([heardBy('Ada'), heardBy('Cyd')]).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ])

  await world.api('message.send', { to: '#general', body: 'for all' }, world.as('Cyd'))
  await until(() => [...heardBy('Ada'), ...heardBy('Bob')].every((count) => count > 0))
  await until(() => heardBy('Bob').every((count) => count === 3))
  await aWhile()
  expect(heardBy('Cyd')).toEqual([0, 0, 0])
  expect(nobody.heard).toEqual([])
})

test.each(eras)(
  'over %s: new agents update the list of agents, and an end of listening ends the watching',
  async (era) => {
    const name = `Watcher-${era}`
    const { client, heard } = await listen(era, world.as(name), ['relay://agents'])
    await world.token(`Newcomer-${era}`)
    await until(() => heard.includes('relay://agents'))
    // One that is known comes and goes.
    const changes = async (change: () => Promise<unknown>) => {
      await aWhile()
      heard.length = 0
      const changed = await change()
      await until(() => heard.includes('relay://agents'))
      return changed
    }
    const known = (await changes(() => world.client('sse', world.as(`Newcomer-${era}`)))) as Client
    await changes(() => known.close())
    await client.close()
    await world.token(`Latecomer-${era}`)
    await aWhile()
    expect(heard.filter((uri) => uri !== 'relay://agents')).toEqual([])
    expect(world.troubles).toEqual([])
  },
)
