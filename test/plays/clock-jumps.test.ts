// The machine's clock is set while the relay runs: nothing hangs, nothing ends early, and entries with a time ahead hold nobody up.

import type { ActionEnvelope, Invocation } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { longAbsenceMs } from '../../packages/relay/src/broker/presence/availability.ts'
import { aWhile } from '../until.ts'
import { type Actor, eventually, play, playAlone, playOnSocket, refused } from './play.ts'

const hourMs = 3_600_000
const serverTime = 'in a shared workspace no time lies after that of the database, or before that of the entry before'
const tenYearsMs = 10 * 365 * 24 * hourMs

play('a wait for a reply ends in its time, wherever the clock was set meanwhile', async ({ ada, bob, clock }) => {
  for (const jump of [-hourMs, hourMs, -tenYearsMs, tenYearsMs]) {
    const reply = ada.asks('bob', 'ready?', { timeoutMs: 5_000 })
    await bob.takes('ready?')
    clock.jumps(jump)
    await clock.passes(4_999)
    expect(await waiting(ada)).toBe('bob')
    await clock.passes(1)
    await refused(reply, 'wait.timeout', /5000 ms/)
  }
})

play('an agent that has gone is noticed within a minute, wherever the clock was set', async ({ ada, bob, clock }) => {
  const reply = ada.asks('bob', 'ready?', { timeoutMs: 10 * longAbsenceMs })
  await bob.takes('ready?')
  await bob.leaves()
  await eventually(async () => expect(await statusOf(ada, 'bob')).toBe('offline'))
  clock.jumps(-hourMs)
  await clock.passes(2 * longAbsenceMs)
  await refused(reply, 'wait.gone', /has been away for/)
})

play('a take that waits ends on time, wherever the clock was set', async ({ bob, clock }) => {
  const taken = bob.call('inbox.take', { wait: 5_000 })
  await aWhile(5)
  clock.jumps(-hourMs)
  await eventually(async () => {
    await clock.passes(5_000)
    expect(await Promise.race([taken, aWhile(5)])).toMatchObject({ messages: [] })
  })
})

play('after the clock was ten years ahead and back, calls of actions have full time', async ({ ada, bob, clock }) => {
  const calls = await offers(ada, 'vote.cast')
  clock.jumps(tenYearsMs)
  await bob.send('ada', 'stamped in ten years')
  clock.jumps(-tenYearsMs)
  const answered = invoke(bob, 'vote.cast', 30_000)
  await eventually(() => expect(calls).toHaveLength(1))
  await clock.passes(29_000)
  await ada.call('action.answer', { invocation: calls[0]?.invocation as string, output: { ok: true } })
  expect(await answered).toMatchObject({ ok: true, output: { ok: true } })
  const late = invoke(bob, 'vote.cast', 30_000)
  await eventually(() => expect(calls).toHaveLength(2))
  clock.jumps(-hourMs)
  await clock.passes(30_000)
  expect(await late).toMatchObject({ ok: false, error: { code: 'timeout' } })
})

playAlone(
  'times are those of the clock, and the order is that of the numbers',
  serverTime,
  async ({ ada, bob, clock }) => {
    const right = clock.now()
    clock.jumps(tenYearsMs)
    await ada.send('bob', 'first')
    await ada.call('message.react', { message: (await bob.takes('first'))[0]?.id as string, emoji: '+1' })
    clock.jumps(-tenYearsMs)
    await ada.send('bob', 'second')
    const [second] = await bob.takes('second')
    expect(Date.parse(second?.ts as string)).toBe(right)
    const { messages } = await bob.call('message.list', { conversation: '@ada,bob' })
    expect(messages.map(({ body }) => body)).toEqual(['first', 'second'])
  },
)

play('a message handed out while the clock ran ahead is not held for years', async ({ ada, bob, clock, enter }) => {
  await ada.send('bob', 'review 12?')
  clock.jumps(tenYearsMs)
  await bob.takes('review 12?')
  const other = await enter({ name: 'bob', token: bob.token })
  await other.takes()
  clock.jumps(-tenYearsMs)
  await other.takes('review 12?')
})

play('an agent counts as idle by the time that has passed, not by the clock', async ({ ada, bob, clock }) => {
  clock.jumps(hourMs)
  expect(await statusOf(ada, 'bob')).toBe('active')
  clock.jumps(-2 * hourMs)
  await clock.passes(120_000)
  expect(await statusOf(ada, 'bob')).toBe('idle')
  await bob.comesBack()
  expect(await statusOf(ada, 'bob')).toBe('active')
  const { uptimeMs } = await ada.call('workspace.status', {})
  expect(uptimeMs).toBe(120_000)
})

playOnSocket('a daemon that is started again in the right year goes on', async ({ ada, bob, clock, house }) => {
  clock.jumps(tenYearsMs)
  await ada.send('bob', 'stamped in ten years')
  await house.stop()
  clock.jumps(-tenYearsMs)
  await house.start()
  await ada.send('bob', 'stamped today')
  await bob.takes('stamped in ten years', 'stamped today')
  const calls = await offers(ada, 'vote.cast')
  const answered = invoke(bob, 'vote.cast', 30_000)
  await eventually(() => expect(calls).toHaveLength(1))
  await ada.call('action.answer', { invocation: calls[0]?.invocation as string, output: 1 })
  expect(await answered).toMatchObject({ ok: true })
})

async function waiting(actor: Actor): Promise<string | undefined> {
  const { agents } = await actor.call('agent.list', { includeOffline: true })
  return agents.find(({ name }) => name === actor.name)?.waitingFor?.agent
}

async function statusOf(actor: Actor, name: string): Promise<string | undefined> {
  const { agents } = await actor.call('agent.list', { includeOffline: true })
  return agents.find((agent) => agent.name === name)?.status
}

async function offers(actor: Actor, name: string): Promise<Invocation[]> {
  const calls: Invocation[] = []
  actor.client.follow('action.follow', (call) => calls.push(call))
  await actor.call('action.register', { name, description: `Does ${name}.`, inputSchema: { type: 'object' } })
  return calls
}

const invoke = (actor: Actor, name: string, timeoutMs: number): Promise<ActionEnvelope> =>
  actor.call('action.invoke', { name, input: {}, timeoutMs })
