// Names: every way to take one, and every refusal.

import { beforeEach, describe, expect, test } from 'vitest'
import { findLead } from '../../src/core/agents.ts'
import { asAgent, CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

type Input = Parameters<CoreWorld['register']>[1]

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'away')
  world.register('owner', { type: 'human', proven: true })
  world.register('holder-of-handle', { handle: 'h' })
  world.live.add('ada').add('owner')
})

test('a new name is registered, gets a token, and enters #general and the broadcast', () => {
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

describe('which name a registration gets', () => {
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

  test('numbered names that are offline are used again, live ones are skipped', () => {
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

test('an agent changes only the parts of its profile that it names, and never its type', () => {
  world.register('ada', { proven: true, handle: 'boss', model: 'm1' })
  const again = world.register('ada', { proven: true, model: 'm2', type: 'human' })
  expect(typesOf(again)).toEqual(['agent.updated'])
  expect(world.store.view.agent('ada')).toMatchObject({ handle: 'boss', model: 'm2', type: 'agent' })
  expect(world.store.view.agentsNamedLike('boss')).toMatchObject([{ name: 'ada' }])
  expect(typesOf(world.register('ada', { proven: true, model: 'm2' }))).toEqual([])
  world.register('ada', { proven: true, handle: 'chief' })
  expect(world.store.view.agentsNamedLike('boss')).toEqual([])
})

test('the lead is the one of that name, else the one registered as lead, else the first that is there, else the first', () => {
  const lead = (...there: string[]) => findLead(world.store.view, (name) => there.includes(name))?.name
  world.register('eve', { type: 'human' })
  world.register('zoe', {})
  expect([lead(), lead('zoe'), lead('zoe', 'ada'), lead('eve')]).toEqual(['ada', 'zoe', 'ada', 'ada'])
  world.register('boss', { role: 'lead', isHolder: true })
  expect([lead(), lead('zoe')]).toEqual(['boss', 'boss'])
  world.register('lead', {})
  expect(lead('boss')).toBe('lead')
  expect(findLead(new CoreWorld().store.view, () => true)).toBeUndefined()
})

test("only the key's holder can take the role of the lead; a parent can give it to a worker", () => {
  expect(world.register('spy', { role: 'lead' })).toMatchObject({ refusal: { code: 'auth.denied' } })
  expect(world.register('ada', { role: 'lead', proven: true })).toMatchObject({ refusal: { code: 'auth.denied' } })
  world.register('boss', { role: 'lead', isHolder: true })
  // A lead that comes back stays it; who is given a number instead of its name does not become it.
  expect('refusal' in world.register('boss', { role: 'lead', proven: true })).toBe(false)
  world.live.add('boss')
  expect(world.register('boss', { role: 'lead' })).toMatchObject({ refusal: { code: 'auth.denied' } })
  world.give('worker.spawn', 'ada', { name: 'chief', cli: 'claude', cwd: '/', isInjected: true, role: 'lead' })
  expect(world.store.view.agent('chief')).toMatchObject({ role: 'lead', parent: 'ada' })
})

test('a handle that looks like another name or handle is refused, and so is a name that looks like a handle', () => {
  world.cast('bob')
  world.register('ada', { proven: true, handle: 'The Boss' })
  for (const handle of ['bob', 'Bob', 'b-o-b', 'bób', 'ｂｏｂ', 'the-boss', 'agent_relay'])
    expect(world.register('cy', { handle })).toMatchObject({ refusal: { code: 'agent.handle-taken' } })
  expect(world.register('TheBoss', { strict: true })).toMatchObject({ refusal: { code: 'agent.handle-taken' } })
  expect(world.register('TheBoss')).toMatchObject({ outcome: { agent: 'TheBoss-2' } })
  const spawned = world.give('worker.spawn', 'bob', { name: 'the.boss', cli: 'claude', cwd: '/', isInjected: true })
  expect(spawned).toMatchObject({ refusal: { code: 'agent.handle-taken' } })
  // One's own name, in any case, is no other's.
  expect('refusal' in world.register('bob', { proven: true, handle: 'BOB' })).toBe(false)
  // What is given up is free again.
  world.register('ada', { proven: true, handle: 'chief' })
  expect('refusal' in world.register('cy', { handle: 'the boss' })).toBe(false)
})

test('a name that looks like the daemon or like a person is refused', () => {
  for (const name of ['Agent-Relay', 'AGENT-RELAY', 'agent_relay', 'agent-relay.'])
    expect(world.register(name)).toMatchObject({ refusal: { code: 'agent.name-taken' } })
  expect(world.register('Owner', { strict: true })).toMatchObject({ refusal: { code: 'agent.handle-taken' } })
  expect(world.register('Owner')).toMatchObject({ outcome: { agent: 'Owner-2' } })
  const spawned = world.give('worker.spawn', 'ada', { name: 'OWNER', cli: 'claude', cwd: '/', isInjected: true })
  expect(spawned).toMatchObject({ refusal: { code: 'agent.handle-taken' } })
  // Two people may be called alike: both have shown the key.
  expect(world.register('Owner', { type: 'human', isHolder: true })).toMatchObject({ outcome: { agent: 'Owner' } })
})

test('an agent keeps its sixteen newest tokens', () => {
  const hashes = Array.from({ length: 20 }, (_, i) => `hash-${i}`)
  for (const tokenHash of hashes) world.register('away', { tokenHash })
  const known = hashes.filter((hash) => world.store.queries.tokenOwner(hash)?.agent === 'away')
  expect(known).toEqual(hashes.slice(-16))
})

describe('an agent is retired', () => {
  const retire = (name: string) => world.give('agent.retire', 'owner', { name })
  const names = () => [...world.store.view.agents()].map(({ name }) => name)
  const spawn = (by: string, name = 'w') =>
    world.give('worker.spawn', by, { name, cli: 'claude', cwd: '/', isInjected: false, task: 't' })
  const offer = (by: string, availableTo?: string[]) =>
    world.give('action.register', by, { name: 'act', description: 'x', inputSchema: {}, availableTo }, 's1')
  const run = (by: string, agent: string) => {
    const { run } = outcomeOf(world.give('run.start', by, { contract: 'x', harness: 'external', agent }))
    world.give('run.complete', agent, { run: run as string, summary: 'done', standing: asAgent })
  }

  test('only one that is there, is away, and has no run', () => {
    expect(codeOf(retire('nobody'))).toBe('agent.unknown')
    expect(codeOf(retire('ada'))).toBe('agent.in-use')
    world.give('run.start', 'ada', { contract: 'x', harness: 'external', agent: 'away' })
    expect(codeOf(retire('away'))).toBe('agent.in-use')
  })

  test('only one whose workers have ended', () => {
    const id = outcomeOf(spawn('away')).id as string
    expect(codeOf(retire('away'))).toBe('agent.in-use')
    world.give('worker.report', 'agent-relay', { id, status: 'exited' })
    expect(outcomeOf(retire('away'))).toEqual({ agent: 'away', isFree: false })
  })

  test('its name is free if nothing that is kept names it, and the heir is another agent', () => {
    const before = world.store.view.agent('away')?.id
    expect(outcomeOf(retire('away'))).toEqual({ agent: 'away', isFree: true })
    expect([names().includes('away'), world.store.view.isRetired('away')]).toEqual([false, false])
    expect(codeOf(retire('away'))).toBe('agent.unknown')
    expect(outcomeOf(world.register('away', { strict: true }))).toMatchObject({ agent: 'away', issued: true })
    expect(world.store.view.agent('away')?.id).not.toBe(before)
    const all = names()
    world.store.rebuild()
    expect(names()).toEqual(all)
  })

  test.each([
    ['got a message', () => world.give('message.send', 'ada', { to: 'away', body: 'hi' })],
    ['sent one', () => world.give('message.send', 'away', { to: '#general', body: 'hi' })],
    ['heard one in a channel', () => world.give('message.send', 'ada', { to: '#general', body: 'hi' })],
    ['had a run', () => run('ada', 'away')],
    ['asked for a run', () => run('away', 'ada')],
    ['is the parent of another', () => world.register('child', { parent: 'away' })],
    ['offers an action', () => offer('away')],
    ['may call an action', () => offer('ada', ['away'])],
    ['called an action', () => world.give('action.invoke', 'away', { name: 'act', inputJson: '{}', inputBytes: 2 })],
    ['may see terminals', () => world.give('workspace.set-policy', 'owner', { terminal: { away: ['*'] } })],
  ])('one that %s keeps its name for good', (_, sends) => {
    sends()
    expect(outcomeOf(retire('away'))).toEqual({ agent: 'away', isFree: false })
    expect(names()).not.toContain('away')
    for (const more of [{ strict: true }, { proven: true, isHolder: true }])
      expect(codeOf(world.register('away', more))).toBe('agent.name-retired')
    expect(outcomeOf(world.register('away'))).toMatchObject({ agent: 'away-2' })
    expect(codeOf(world.give('message.send', 'ada', { to: 'away', body: 'hi' }))).toBe('agent.unknown')
    world.store.rebuild()
    expect([names().includes('away'), world.store.view.isRetired('away')]).toEqual([false, true])
  })

  test('it never hides a live agent whose name reads like its own', () => {
    // What the row of the next agent but one is called once its name is free reads like this: see store/fact-applier.ts.
    const alike = `X-${names().length + 2}`
    world.cast(alike, 'X', 'bob', 'B-ob').register('person', { type: 'human', proven: true, isHolder: true })
    world.register('per-son', { isHolder: true })
    const isTaken = () => [
      codeOf(world.register('eve', { handle: alike.toLowerCase() })),
      codeOf(world.register('eve', { handle: 'b-o-b' })),
      codeOf(world.register('Person', { strict: true })),
    ]
    const all = Array.from({ length: 3 }, () => 'agent.handle-taken')
    expect(isTaken()).toEqual(all)
    for (const name of ['X', 'B-ob', 'per-son']) expect(outcomeOf(retire(name))).toMatchObject({ isFree: true })
    expect(isTaken()).toEqual(all)
    world.store.rebuild()
    expect(isTaken()).toEqual(all)
  })

  test('its handle is free, and nothing that is said later is for it', () => {
    expect(outcomeOf(retire('holder-of-handle'))).toMatchObject({ isFree: true })
    expect(outcomeOf(world.register('other', { handle: 'h' }))).toMatchObject({ agent: 'other' })
    world.give('message.send', 'ada', { to: 'away', body: 'hi' })
    retire('away')
    expect(world.store.view.isMember('away', '#general')).toBe(false)
  })
})
