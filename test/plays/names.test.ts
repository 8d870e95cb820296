// Names: the right to take one, the name of a newcomer without that right, and what outlives a connection.

import { expect } from 'vitest'
import { idleMs } from '../../packages/relay/src/broker/sessions/sessions.ts'
import { eventually, play, refused } from './play.ts'

play('a live name is refused to a newcomer with strictName, and numbered for others', async ({ ada, enter }) => {
  await refused(enter({ name: 'ada', strict: true }), 'agent.name-taken', /"ada" is in use by a live session/)
  const second = await enter({ name: 'ada' })
  expect(second.name).toBe('ada-2')
  expect((await enter({ name: 'ada' })).name).toBe('ada-3')
  await second.leaves()
  await eventually(async () => expect(await statusOf(ada, 'ada-2')).toBe('offline'))
  // A number that is free again is used again.
  expect((await enter({ name: 'ada' })).name).toBe('ada-2')
})

play('the token of an agent opens a second session of it', async ({ ada, bob, enter }) => {
  expect(ada.token).toMatch(/^at_/)
  expect((await enter({ name: 'ada', token: ada.token })).name).toBe('ada')
  // The token alone says who it is.
  expect((await enter({ token: ada.token })).name).toBe('ada')
  await refused(enter({ name: 'ada', token: bob.token }), 'auth.denied', /the token is not one of ada's/)
  await refused(enter({ token: 'at_guess' }), 'auth.denied', /not known here/)
  await refused(enter({ name: 'ada', token: 'at_guess' }), 'auth.denied', /not one of ada's/)
})

play('a name outlives its connection, and is retaken with its inbox', async ({ ada, bob, enter }) => {
  const { token } = bob
  await bob.leaves()
  await ada.send('bob', 'while you were out')
  const back = await enter({ name: 'bob', strict: true })
  await back.takes('while you were out')
  // A new token, and the former one still works.
  expect(back.token).not.toBe(token)
  expect((await enter({ name: 'bob', token })).name).toBe('bob')
})

play('two sessions that take one name in the same moment are two agents', async ({ enter }) => {
  const twins = await Promise.all([enter({ name: 'twin' }), enter({ name: 'twin' }), enter({ name: 'twin' })])
  expect(twins.map(({ name }) => name).sort()).toEqual(['twin', 'twin-2', 'twin-3'])
})

play('a person needs the workspace key', async ({ ada, enter, key }) => {
  await refused(enter({ name: 'owner', type: 'human' }), 'auth.denied', /needs the workspace key/)
  await refused(enter({ name: 'owner', type: 'human', key: 'rk_guess' }), 'auth.denied', /key is not valid here/)
  const owner = await enter({ name: 'owner', type: 'human', key: key() })
  await owner.leaves()
  await eventually(async () => expect(await statusOf(ada, 'owner')).toBe('offline'))
  await refused(enter({ name: 'owner' }), 'auth.denied', /owner is a person/)
  expect((await enter({ name: 'owner', type: 'human', key: key() })).name).toBe('owner')
})

play('the holder of the key may act as any agent', async ({ ada, bob, enter, key }) => {
  const holder = await enter({ name: 'ada', key: key() })
  await holder.send('bob', 'from ada, by the owner')
  expect((await bob.takes('from ada, by the owner'))[0]).toMatchObject({ from: 'ada' })
  await holder.call('agent.register', { name: 'cy' })
  await holder.send('bob', 'from cy')
  await bob.takes('from cy')
  await refused(ada.call('agent.register', { name: 'bob' }), 'auth.denied', /this session acts as ada/)
})

play('a session without a name may ask, but not act', async ({ enter }) => {
  const nobody = await enter({})
  expect((await nobody.call('agent.list', {})).agents.map(({ name }) => name).sort()).toEqual(['ada', 'bob', 'cy'])
  await refused(nobody.send('ada', 'x'), 'agent.required', /Register a name first/)
  await refused(nobody.call('inbox.take', {}), 'agent.required', /Register a name first/)
  const { agent, token } = await nobody.call('agent.register', { name: 'dee' })
  expect([agent, token?.slice(0, 3)]).toEqual(['dee', 'at_'])
  expect(await nobody.send('ada', 'now I am')).toMatchObject({ to: 'ada' })
})

play('what an agent says of itself is kept until it says something else', async ({ ada, enter, key }) => {
  await enter({ name: 'dee', key: key(), handle: 'the-reviewer', role: 'lead', parent: 'ada', channels: ['#build'] })
  expect(await described(ada, 'dee')).toMatchObject({
    handle: 'the-reviewer',
    role: 'lead',
    parent: 'ada',
    type: 'agent',
  })
  expect((await ada.call('channel.list', {})).channels[0]).toMatchObject({ name: '#build', members: 1 })
  await refused(enter({ name: 'eve', handle: 'the-reviewer' }), 'agent.handle-taken', /the handle of dee/)
  for (const handle of ['bob', 'BOB', 'b.o.b', 'ｂｏｂ', 'The Reviewer', 'Agent Relay'])
    await refused(enter({ name: 'eve', handle }), 'agent.handle-taken', /is the name or the handle of/)
  await refused(enter({ name: 'The-Reviewer', strict: true }), 'agent.handle-taken', /of dee/)
  await refused(enter({ name: 'eve', parent: 'nobody' }), 'agent.unknown', /nobody/)
  await refused(enter({ name: 'not a name' }), 'input.invalid', /name: a name is 1 to 64/)
  await refused(enter({ name: 'agent-relay' }), 'agent.name-taken', /agent-relay/)
  await ada.call('agent.register', { name: 'ada', handle: 'boss' })
  expect(await described(ada, 'ada')).toMatchObject({ handle: 'boss' })
})

play('an agent is active, idle or offline by its calls and sessions', async ({ ada, bob, clock }) => {
  expect(await statusOf(ada, 'bob')).toBe('active')
  await clock.passes(idleMs)
  expect(await statusOf(ada, 'bob')).toBe('idle')
  expect((await ada.call('agent.list', { includeIdle: false })).agents.map(({ name }) => name)).toEqual(['ada'])
  await bob.comesBack()
  expect(await statusOf(ada, 'bob')).toBe('active')
  await bob.leaves()
  await eventually(async () => expect(await statusOf(ada, 'bob')).toBe('offline'))
  expect((await ada.call('agent.list', {})).agents.map(({ name }) => name).sort()).toEqual(['ada', 'cy'])
})

type Asker = import('./play.ts').Actor

async function described(asker: Asker, agent: string) {
  const { agents } = await asker.call('agent.list', { includeOffline: true })
  return agents.find(({ name }) => name === agent)
}

async function statusOf(asker: Asker, agent: string) {
  return (await described(asker, agent))?.status
}
