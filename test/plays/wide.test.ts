// Addresses that name another workspace of the same daemon: the messages there, the report here, and closed workspaces.

import { expect } from 'vitest'
import { longAbsenceMs } from '../../packages/relay/src/broker/presence/availability.ts'
import { type Actor, eventually, play, playOnOneMachine, refused, type Stage } from './play.ts'

async function frontend({ enter, openWorkspace }: Stage): Promise<{ designer: Actor; tester: Actor }> {
  await openWorkspace('frontend')
  const designer = await enter({ name: 'Designer', workspace: 'frontend' })
  return { designer, tester: await enter({ name: 'tester', workspace: 'frontend' }) }
}

play('an agent of another workspace gets a message and answers it', async (stage) => {
  const { ada, bob } = stage
  const { designer, tester } = await frontend(stage)
  const sent = await ada.send('frontend:Designer', 'a logo?')
  expect(sent).toMatchObject({ to: 'frontend:Designer', away: [] })
  const [message] = await designer.takes('a logo?')
  expect(message).toMatchObject({ id: sent.id, from: 'main:ada' })
  await designer.send('main:ada', 'soon', { replyTo: message?.id as string })
  expect((await ada.takes('soon'))[0]).toMatchObject({ from: 'frontend:Designer', thread: sent.id })
  await bob.takes()
  await tester.takes()
})

play('a message to the lead of another workspace reaches its lead, else its first agent', async (stage) => {
  const { ada, enter } = stage
  const { designer, tester } = await frontend(stage)
  await ada.send('frontend:lead', 'to the first')
  await designer.takes('to the first')
  await designer.leaves()
  expect(await ada.send('frontend:lead', 'to who is there')).toMatchObject({ to: 'frontend:tester', away: [] })
  await tester.takes('to who is there')
  await refused(enter({ name: 'spy', role: 'lead', workspace: 'frontend' }), 'auth.denied', /given by who spawns/)
  await refused(enter({ name: 'spy', handle: 'Lead', workspace: 'frontend' }), 'auth.denied', /given by who spawns/)
  const boss = await enter({ name: 'boss', role: 'lead', workspace: 'frontend', key: stage.key('frontend') })
  await ada.send('frontend:lead', 'to the lead')
  await boss.takes('to the lead')
  await tester.takes()
  // Who is called so gets it before anybody; the answer names who that is.
  const named = await enter({ name: 'lead', workspace: 'frontend' })
  expect(await ada.send('frontend:lead', 'to its name')).toMatchObject({ to: 'frontend:lead', away: [] })
  await named.takes('to its name')
  // At home too.
  await stage.bob.send('main:lead', 'to our first')
  await ada.takes('to our first')
})

play('a handle is an address, here and in another workspace; without its sign it is a name', async (stage) => {
  const { ada, bob, enter } = stage
  await frontend(stage)
  const planner = await enter({ name: 'Planner-7', handle: '@planner' })
  const sent = await ada.send('@planner', 'by handle')
  expect(sent).toMatchObject({ to: 'Planner-7', away: [] })
  await planner.takes('by handle')
  await refused(ada.send('planner', 'x'), 'agent.unknown', /Agent not found: planner\. Did you mean Planner-7\?/)
  await bob.send('main:@planner', 'with the workspace')
  await planner.takes('with the workspace')
  const painter = await enter({ name: 'Painter', handle: 'art', workspace: 'frontend' })
  await ada.send('frontend:@art', 'there')
  await painter.takes('there')
  await refused(ada.send('@Planner', 'x'), 'agent.unknown', /Agent not found: @Planner/)
  await refused(ada.send('@nobody', 'x'), 'agent.unknown', /Agent not found: @nobody/)
})

play('a message to all reaches everyone in one other workspace, or in all of them', async (stage) => {
  const { ada, bob, cy } = stage
  const { designer, tester } = await frontend(stage)
  await ada.send('frontend:*', 'hello there')
  await designer.takes('hello there')
  await tester.takes('hello there')
  await bob.takes()
  await ada.send('*:*', 'hello all')
  for (const each of [bob, cy, designer, tester]) await each.takes('hello all')
  await ada.takes()
})

play('an address with the name of the own workspace stays in it', async (stage) => {
  const { ada, bob } = stage
  await frontend(stage)
  const { id } = await ada.send('main:bob', 'here')
  expect((await bob.takes('here'))[0]).toMatchObject({ id, from: 'ada', to: 'bob' })
  await ada.call('channel.create', { channel: '#build' })
  await ada.send('main:#build', 'here too')
})

play('an agent of another workspace can write to a channel and does not join it', async (stage) => {
  const { ada } = stage
  const { designer, tester } = await frontend(stage)
  await ada.send('frontend:#general', 'hello channel')
  expect((await designer.takes('hello channel'))[0]).toMatchObject({ from: 'main:ada', channel: '#general' })
  await tester.takes('hello channel')
  expect((await designer.call('channel.list', {})).channels[0]).toMatchObject({ name: '#general', members: 2 })
})

play('a refusal names the workspace, agent or channel that cannot be reached', async (stage) => {
  const { ada } = stage
  await frontend(stage)
  await refused(ada.send('nowhere:Designer', 'x'), 'workspace.unknown', /No workspace "nowhere" is open here/)
  await refused(
    ada.send('frontend:Desinger', 'x'),
    'agent.unknown',
    /Agent not found: frontend:Desinger\. Did you mean frontend:Designer\?/,
  )
  await refused(ada.send('frontend:#nope', 'x'), 'channel.unknown', /#nope/)
  await refused(ada.send('*:ada', 'x'), 'workspace.unknown', /No workspace "\*"/)
  await stage.openWorkspace('empty')
  await refused(ada.send('empty:lead', 'x'), 'agent.unknown', /empty:lead/)
})

play('an unknown name that other workspaces have is offered by its address', async (stage) => {
  const { ada, enter, openWorkspace } = stage
  await frontend(stage)
  await openWorkspace('backend')
  await enter({ name: 'tester', workspace: 'backend' })
  await refused(
    ada.send('Designer', 'x'),
    'agent.unknown',
    /^Agent not found: Designer\. Designer is in frontend: send to "frontend:Designer"\. /,
  )
  await refused(
    ada.send('tester', 'x'),
    'agent.unknown',
    /"frontend:tester"\. tester is in backend: .*"backend:tester"/,
  )
  await refused(ada.send('nobody', 'x'), 'agent.unknown', /^Agent not found: nobody\. All names/)
})

playOnOneMachine('whoever is alone is told who is in other workspaces', async (stage) => {
  const { enter, openWorkspace } = stage
  await openWorkspace('solo')
  const lone = await enter({ name: 'lone', workspace: 'solo' })
  const { agents, abroad } = await lone.call('agent.list', {})
  expect(agents.map(({ name }) => name)).toEqual(['lone'])
  expect(abroad?.sort()).toEqual(['main:ada', 'main:bob', 'main:cy'])
  const second = await enter({ name: 'second', workspace: 'solo' })
  expect(await lone.call('agent.list', {})).not.toHaveProperty('abroad')
  await second.leaves()
  await eventually(async () => expect(await lone.call('agent.list', {})).toHaveProperty('abroad'))
})

play('nothing of the other workspace becomes readable', async (stage) => {
  const { ada, bob } = stage
  const { designer, tester } = await frontend(stage)
  const { id: inside } = await designer.send('tester', 'our secret')
  const { id: sent } = await ada.send('frontend:Designer', 'hello')
  await designer.takes('hello')
  // The receipts of one's own message, and nothing else.
  expect(Object.keys(await ada.receipts(sent))).toEqual(['frontend:Designer'])
  expect((await ada.receipts(sent))['frontend:Designer']).toMatchObject({ state: 'offered', route: 'take' })
  await refused(bob.receipts(sent), 'message.unknown', /known to you/)
  await refused(ada.receipts(inside), 'message.unknown', /known to you/)
  expect((await ada.call('message.search', { text: 'secret' })).messages).toEqual([])
  expect((await ada.call('message.thread', { thread: sent })).messages).toEqual([])
  const { events } = await ada.call('event.list', { limit: 1_000 })
  expect(events.filter(({ type }) => type === 'message.created')).toEqual([])
  await tester.takes('our secret')
})

play('a wide message sent again under its id is stored once', async (stage) => {
  const { ada } = stage
  const { designer } = await frontend(stage)
  const first = await ada.send('frontend:Designer', 'once', { id: 'wide-1' })
  expect((await ada.send('frontend:Designer', 'once', { id: 'wide-1' })).id).toBe(first.id)
  await ada.send('*:*', 'all', { id: 'wide-2' })
  await ada.send('*:*', 'all', { id: 'wide-2' })
  await designer.takes('once', 'all')
  await stage.bob.takes('all')
})

play('a used id is refused for another message to all workspaces, also where the first never came', async (stage) => {
  const { ada, enter, openWorkspace } = stage
  await frontend(stage)
  await ada.send('*:*', 'first', { id: 'wide-1' })
  await openWorkspace('later')
  const newcomer = await enter({ name: 'newcomer', workspace: 'later' })
  await refused(ada.send('*:*', 'second', { id: 'wide-1' }), 'call.reused', /wide-1 was already used for another call/)
  await newcomer.takes()
})

play('the answer says who is away in the other workspace', async (stage) => {
  const { designer, tester } = await frontend(stage)
  await designer.leaves()
  await eventually(async () => {
    const { agents } = await tester.call('agent.list', {})
    expect(agents.map(({ name }) => name)).toEqual(['tester'])
  })
  expect(await stage.ada.send('frontend:Designer', 'later')).toMatchObject({ away: ['frontend:Designer'] })
  await stage.clock.passes(3 * longAbsenceMs)
  const asked = stage.ada.asks('frontend:Designer', 'now?')
  await refused(asked, 'wait.gone', /^frontend:Designer has been away for 3 min; it waits in their inbox\.$/)
})

play('the answer to a question in another workspace arrives in the own workspace', async (stage) => {
  const { ada } = stage
  const { designer } = await frontend(stage)
  const direct = ada.asks('frontend:Designer', 'a logo?')
  // The commits of two workspaces have no order.
  await eventually(async () => void (await designer.takes('a logo?')))
  await designer.send('main:ada', 'blue')
  expect(await direct).toMatchObject({ from: 'frontend:Designer', body: 'blue' })
  const toLead = ada.asks('frontend:lead', 'and the font?')
  await eventually(async () => void (await designer.takes('and the font?')))
  await designer.send('main:ada', 'serif')
  expect(await toLead).toMatchObject({ from: 'frontend:Designer', body: 'serif' })
})
