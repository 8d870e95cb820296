// The token of a stateless agent: what it is worth, for how long, and that it leaves the tokens of before alone.

import { expect, test } from 'vitest'
import { PlayClock } from '../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../test/plays/houses.ts'
import { dayMs, registerForTheDay } from '../src/wires/taking-names.ts'
import { CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

test('a registration that asks for one is issued one, also where the name is proven', () => {
  const world = new CoreWorld()
  const until = world.at + 1_000
  const known = (hash: string, now: number) => world.store.queries.agentOfTokenHash(hash, now)
  expect(typesOf(world.register('ada', { tokenHash: 'day', tokenUntil: until }))).toContain('agent.token-issued')
  expect([known('day', until - 1), known('day', until)]).toEqual(['ada', undefined])
  const again = world.register('ada', { proven: true, tokenHash: 'day-2', tokenUntil: until + 5 })
  expect(outcomeOf(again)).toMatchObject({ agent: 'ada', issued: true })
  expect(codeOf(world.register('ada', { proven: true }))).toBe('done')
  expect([known('day', until - 1), known('day-2', until)]).toEqual(['ada', 'ada'])
})

test('however many are issued in a day, the lasting token stays, and the newest of the day', () => {
  const world = new CoreWorld()
  world.register('ada', { tokenHash: 'lasting' })
  const hashes = Array.from({ length: 40 }, (_, n) => `day-${n}`)
  for (const tokenHash of hashes) world.register('ada', { proven: true, tokenHash, tokenUntil: world.at + 1_000 })
  const known = ['lasting', ...hashes].filter((hash) => world.store.queries.agentOfTokenHash(hash, world.at))
  expect(known).toEqual(['lasting', ...hashes.slice(-16)])
  world.store.rebuild()
  expect(known.filter((hash) => world.store.queries.agentOfTokenHash(hash, world.at))).toEqual(known)
})

test('it is valid for a day; nobody stays nobody, and an agent is itself alone', async () => {
  const clock = new PlayClock()
  const house = new ProcessHouse(clock)
  await house.open('main')
  const dispatch = house.dispatch('main')
  const { workspace } = dispatch
  const { session: nobody } = await dispatch.hello('network', {}, true)
  const { agent, agentToken = '' } = await registerForTheDay(dispatch, nobody, { name: 'Ada' })
  expect([agent, nobody.agent, workspace.sessions.isLive('Ada')]).toEqual(['Ada', undefined, false])
  expect(workspace.agentOfToken(agentToken)).toBe('Ada')
  // A name that is away is not given to the next who asks for it.
  expect(await registerForTheDay(dispatch, nobody, { name: 'Ada' })).toMatchObject({ agent: 'Ada-2' })
  const { session: ada } = await dispatch.hello('network', { name: 'Ada', token: agentToken }, true)
  expect(await registerForTheDay(dispatch, ada, { name: 'Ada' })).toMatchObject({ agent: 'Ada' })
  await expect(registerForTheDay(dispatch, ada, { name: 'Bob' })).rejects.toMatchObject({ code: 'auth.denied' })
  await expect(registerForTheDay(dispatch, nobody, { name: 'Eve', type: 'human' })).rejects.toMatchObject({
    code: 'auth.denied',
  })
  await clock.passes(dayMs)
  expect(workspace.agentOfToken(agentToken)).toBeUndefined()
  await house.close()
})
