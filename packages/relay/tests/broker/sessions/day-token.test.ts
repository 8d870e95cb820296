// The token of a stateless agent: its rights, its life, and that it leaves earlier tokens alone.

import { expect, test } from 'vitest'
import { PlayClock } from '../../../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../../../test/plays/houses.ts'
import { dayTokenMs } from '../../../src/broker/sessions/credentials.ts'
import { registerForTheDay } from '../../../src/wires/mcp-session.ts'
import { CoreWorld, codeOf, outcomeOf, typesOf } from '../../core/core-world.ts'

const model = { door: 'network', kind: 'model' } as const
const tenYearsMs = 10 * 365 * 24 * 3_600_000

test('a registration that asks for a token of a day gets one, even if the name is proven already', () => {
  const world = new CoreWorld()
  const until = world.at + 1_000
  const known = (hash: string) => world.store.queries.tokenOwner(hash)
  expect(typesOf(world.register('ada', { tokenHash: 'day', tokenUntil: until }))).toContain('agent.token-issued')
  expect(known('day')).toEqual({ agent: 'ada', until })
  const again = world.register('ada', { proven: true, tokenHash: 'day-2', tokenUntil: until + 5 })
  expect(outcomeOf(again)).toMatchObject({ agent: 'ada', issued: true })
  expect(codeOf(world.register('ada', { proven: true }))).toBe('done')
  expect([known('day')?.until, known('day-2')?.until]).toEqual([until, until + 5])
})

test('however many day tokens are issued, the lasting token and the newest day tokens stay valid', () => {
  const world = new CoreWorld()
  world.register('ada', { tokenHash: 'lasting' })
  const hashes = Array.from({ length: 40 }, (_, n) => `day-${n}`)
  for (const tokenHash of hashes) world.register('ada', { proven: true, tokenHash, tokenUntil: world.at + 1_000 })
  const known = ['lasting', ...hashes].filter((hash) => world.store.queries.tokenOwner(hash))
  expect(known).toEqual(['lasting', ...hashes.slice(-16)])
  world.store.rebuild()
  expect(known.filter((hash) => world.store.queries.tokenOwner(hash))).toEqual(known)
})

test('a day token is valid for a day and acts as its own agent; the session that asked for it gets no name by it', async () => {
  const clock = new PlayClock()
  const house = new ProcessHouse(clock)
  await house.open('main')
  const dispatch = house.dispatch('main')
  const { workspace } = dispatch
  const { session: nobody } = await dispatch.openSession(model, {})
  const { agent, agentToken = '' } = await registerForTheDay(dispatch, nobody, { name: 'Ada' })
  expect([agent, nobody.agent, workspace.sessions.isLive('Ada')]).toEqual(['Ada', undefined, false])
  expect(workspace.credentials.agentOfToken(agentToken)).toBe('Ada')
  // A name that is away is not given to the next who asks for it.
  expect(await registerForTheDay(dispatch, nobody, { name: 'Ada' })).toMatchObject({ agent: 'Ada-2' })
  const { session: ada } = await dispatch.openSession(model, { name: 'Ada', token: agentToken })
  expect(await registerForTheDay(dispatch, ada, { name: 'Ada' })).toMatchObject({ agent: 'Ada' })
  await expect(registerForTheDay(dispatch, ada, { name: 'Bob' })).rejects.toMatchObject({ code: 'auth.denied' })
  await expect(registerForTheDay(dispatch, nobody, { name: 'Eve', type: 'human' })).rejects.toMatchObject({
    code: 'auth.denied',
  })
  // A clock that is set back a little keeps it; one that ran ahead by years must not have made it last for years.
  clock.jumps(-60_000)
  expect(workspace.credentials.agentOfToken(agentToken)).toBe('Ada')
  clock.jumps(-tenYearsMs)
  expect(workspace.credentials.agentOfToken(agentToken)).toBeUndefined()
  clock.jumps(tenYearsMs + 60_000)
  await clock.passes(dayTokenMs)
  expect(workspace.credentials.agentOfToken(agentToken)).toBeUndefined()
  await house.close()
})
