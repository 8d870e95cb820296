// Full-text search: its results, its syntax, and the right to find.

import { expect } from 'vitest'
import { bodiesOf, play, playOnSocket } from './play.ts'

type Asker = import('./play.ts').Actor

async function found(actor: Asker, text: string, filter: { from?: string; channel?: string; limit?: number } = {}) {
  return bodiesOf((await actor.call('message.search', { text, ...filter })).messages)
}

play('a search finds what was sent just before it, newest first', async ({ ada, bob }) => {
  for (let i = 0; i < 100; i++) await ada.send('bob', `build ${i} is green`)
  await ada.send('bob', 'build 100 is red')
  expect(await found(bob, 'red')).toEqual(['build 100 is red'])
  expect((await found(bob, 'green', { limit: 2 })).slice(0, 2)).toEqual(['build 99 is green', 'build 98 is green'])
  expect((await bob.call('message.search', { text: 'green', limit: 2 })).more).toBeGreaterThan(0)
  expect((await bob.call('message.search', { text: 'red' })).more).toBe(0)
})

play('a search takes words, phrases and beginnings of words; nothing else is syntax', async ({ ada, bob }) => {
  await ada.send('bob', 'the quick brown fox')
  await ada.send('bob', 'the brown quick fox')
  await ada.send('bob', 'über die Straße, naïve café')
  expect(await found(bob, 'quick fox')).toHaveLength(2)
  expect(await found(bob, '"quick brown"')).toEqual(['the quick brown fox'])
  expect(await found(bob, 'qui*')).toHaveLength(2)
  expect(await found(bob, 'qui')).toEqual([])
  expect(await found(bob, 'CAFE')).toHaveLength(1)
  for (const odd of [
    'AND',
    'fox OR',
    'NEAR(a b)',
    'body:fox',
    '"',
    '""',
    '*',
    '^fox',
    '-fox',
    "' OR 1=1",
    '(',
    '--',
    'a\0b',
  ]) {
    expect(Array.isArray(await found(bob, odd))).toBe(true)
  }
})

play('a search finds only what the reader may see, with any filter', async ({ ada, bob, cy, enter, key }) => {
  await ada.call('channel.create', { channel: '#ops' })
  await ada.send('bob', 'secret plan')
  await bob.send('ada', 'what plan')
  await ada.send('#ops', 'ops plan')
  await ada.send('#general', 'public plan')
  expect(await found(cy, 'plan')).toEqual(['public plan'])
  expect(await found(bob, 'plan')).toEqual(['public plan', 'what plan', 'secret plan'])
  expect(await found(bob, 'plan', { from: 'ada' })).toEqual(['public plan', 'secret plan'])
  expect(await found(ada, 'plan', { channel: 'ops' })).toEqual(['ops plan'])
  const owner = await enter({ name: 'owner', type: 'human', key: key() })
  expect(await found(owner, 'plan')).toHaveLength(4)
})

playOnSocket('the index follows the daemon through a restart', async ({ ada, bob, house }) => {
  await ada.send('bob', 'first words')
  expect(await found(bob, 'words')).toEqual(['first words'])
  await ada.send('bob', 'second words')
  await house.stop()
  await house.start()
  await ada.send('bob', 'third words')
  expect(await found(bob, 'words')).toEqual(['third words', 'second words', 'first words'])
})
