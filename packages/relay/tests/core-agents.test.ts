// Names: every way to take one, and every refusal.

import { beforeEach, describe, expect, test } from 'vitest'
import { leadOf } from '../src/core/agents.ts'
import { CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

type Input = Parameters<CoreWorld['register']>[1]

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'away')
  world.register('owner', { type: 'human', proven: true })
  world.register('holder-of-handle', { handle: 'h' })
  world.live.add('ada').add('owner')
})

test('a new name: registered, with a token, in #general and the broadcast', () => {
  const decided = world.register('bob', { channels: ['#build', '#build', '#general'] })
  expect(typesOf(decided)).toEqual([
    'agent.registered',
    'agent.token-issued',
    'channel.joined',
    'channel.joined',
    'channel.created',
    'channel.joined',
  ])
  expect(outcomeOf(decided)).toMatchObject({ agent: 'bob', issued: true })
})

describe('who becomes whom', () => {
  test.each<[why: string, name: string, input: Input, agent: string, issued: boolean | undefined]>([
    ['a live name is numbered', 'ada', {}, 'ada-2', true],
    ['with proof it is the same agent', 'ada', { proven: true }, 'ada', undefined],
    ['an offline name is retaken, with a new token', 'away', {}, 'away', true],
    ['with proof an offline one needs none', 'away', { proven: true }, 'away', undefined],
    ['where retaking is not allowed it is numbered', 'away', { mayRetake: false }, 'away-2', true],
    ['a person comes back with proof', 'owner', { proven: true }, 'owner', undefined],
    ['strict minds only taken names', 'new', { strict: true }, 'new', true],
    ['a long name is cut to make room for its number', 'x'.repeat(64), {}, 'x'.repeat(64), true],
  ])('%s', (_why, name, input, agent, issued) => {
    expect(outcomeOf(world.register(name, input))).toMatchObject(issued ? { agent, issued } : { agent })
  })

  test('numbers that are offline are used again, live ones passed over', () => {
    world.register('ada')
    world.live.add('ada-2')
    world.register('ada')
    expect(outcomeOf(world.register('ada'))).toMatchObject({ agent: 'ada-3' })
    const long = 'y'.repeat(64)
    world.register(long)
    world.live.add(long)
    const { agent } = outcomeOf(world.register(long)) as { agent: string }
    expect(agent).toMatch(/^y{58}-2$/)
  })
})

describe('refusals', () => {
  test.each<[why: string, name: string, input: Input, code: string]>([
    ['a live name, strictly', 'ada', { strict: true }, 'agent.name-taken'],
    [
      'an offline name, strictly, where it may not be retaken',
      'away',
      { strict: true, mayRetake: false },
      'agent.name-offline',
    ],
    ['a person without proof', 'owner', {}, 'auth.denied'],
    ['the daemon itself', 'agent-relay', {}, 'agent.name-taken'],
    ['a handle of another', 'bob', { handle: 'h' }, 'agent.handle-taken'],
    ['a handle of another, for one who is known', 'ada', { handle: 'h', proven: true }, 'agent.handle-taken'],
    ['a parent nobody knows', 'bob', { parent: 'nobody' }, 'agent.unknown'],
  ])('%s', (_why, name, input, code) => {
    const before = world.store.journal.lastSeq
    expect(codeOf(world.register(name, input))).toBe(code)
    expect(world.store.journal.lastSeq).toBe(before)
  })
})

test('what it says of itself changes only what it says, and its type never', () => {
  world.register('ada', { proven: true, handle: 'boss', model: 'm1' })
  const again = world.register('ada', { proven: true, model: 'm2', type: 'human' })
  expect(typesOf(again)).toEqual(['agent.updated'])
  expect(world.store.view.agent('ada')).toMatchObject({ handle: 'boss', model: 'm2', type: 'agent' })
  expect(world.store.view.agentOfHandle('boss')?.name).toBe('ada')
  expect(typesOf(world.register('ada', { proven: true, model: 'm2' }))).toEqual([])
  world.register('ada', { proven: true, handle: 'chief' })
  expect(world.store.view.agentOfHandle('boss')).toBeUndefined()
})

test('the lead is the one registered as lead, else the first', () => {
  expect(leadOf(world.store.view)?.name).toBe('ada')
  world.register('boss', { role: 'lead' })
  expect(leadOf(world.store.view)?.name).toBe('boss')
  expect(leadOf(new CoreWorld().store.view)).toBeUndefined()
})

test('of many registrations the last sixteen tokens are known', () => {
  const hashes = Array.from({ length: 20 }, (_, i) => `hash-${i}`)
  for (const tokenHash of hashes) world.register('away', { tokenHash })
  const known = hashes.filter((hash) => world.store.queries.agentOfTokenHash(hash, 0) === 'away')
  expect(known).toEqual(hashes.slice(-16))
})
