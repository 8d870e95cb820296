// Actions as programs offer and call them, on every link: the answer of a call, the right to call, and calls whose provider or caller leaves.

import { type ActionEnvelope, daemonName, type Invocation } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { type Actor, eventually, play, playOnSocket, refused } from './play.ts'

const schema = { type: 'object' }

/** Offers an action by hand and collects its calls. */
async function offers(actor: Actor, name: string, more: object = {}): Promise<Invocation[]> {
  const calls: Invocation[] = []
  actor.client.follow('action.follow', (call) => calls.push(call))
  await actor.call('action.register', { name, description: `Does ${name}.`, inputSchema: schema, ...more })
  return calls
}

async function first(calls: Invocation[]): Promise<Invocation> {
  await eventually(() => expect(calls.length).toBeGreaterThan(0))
  return calls[0] as Invocation
}

/** Without those that the daemon itself offers. */
const listed = async (actor: Actor) =>
  (await actor.call('action.list', {})).actions.filter(({ provider }) => provider !== daemonName)

const invoke = (actor: Actor, name: string, input: unknown = {}, timeoutMs?: number): Promise<ActionEnvelope> =>
  actor.call('action.invoke', { name, input, timeoutMs })

play('an action is offered, listed, called and answered', async ({ ada, bob }) => {
  const calls = await offers(ada, 'review.submit_vote')
  const actions = await listed(bob)
  expect(actions).toMatchObject([{ name: 'review.submit_vote', tool: 'review_submit_vote', provider: 'ada' }])
  const voting = invoke(bob, 'review.submit_vote', { vote: 'approve' })
  const { invocation, action, input, caller } = await first(calls)
  expect({ action, input, caller }).toMatchObject({
    action: 'review.submit_vote',
    input: { vote: 'approve' },
    caller: { type: 'agent', name: 'bob' },
  })
  expect(await bob.call('action.result', { invocation })).toEqual({ running: true })
  expect(await ada.call('action.answer', { invocation, output: { recorded: true } })).toEqual({ counted: true })
  const envelope = {
    ok: true,
    action: 'review.submit_vote',
    invocationId: invocation,
    output: { recorded: true },
  }
  expect(await voting).toEqual(envelope)
  expect(await bob.call('action.result', { invocation })).toEqual({ running: false, result: envelope })
  // A late answer changes nothing.
  expect(await ada.call('action.answer', { invocation, output: 'other' })).toEqual({ counted: false })
})

play('only the provider of an action answers a call, and only the caller gets the result', async ({ ada, bob, cy }) => {
  const calls = await offers(ada, 'thing.do')
  const call = invoke(bob, 'thing.do')
  const { invocation } = await first(calls)
  await refused(cy.call('action.answer', { invocation, output: 1 }), 'invocation.unknown', /No invocation/)
  await refused(cy.call('action.result', { invocation }), 'invocation.unknown', /No invocation/)
  const seen = await cy.call('event.list', { types: ['action.invoked', 'action.completed'] })
  expect(seen.events).toEqual([])
  await ada.call('action.answer', { invocation, error: { code: 'permission_denied', message: 'not you' } })
  expect(await call).toMatchObject({ ok: false, error: { code: 'permission_denied', message: 'not you' } })
})

play('a call that cannot begin is answered with an envelope and recorded', async ({ ada, bob, cy }) => {
  await offers(ada, 'thing.private', { availableTo: ['cy'] })
  expect(await invoke(bob, 'thing.none')).toMatchObject({ ok: false, error: { code: 'unknown_action' } })
  expect(await invoke(bob, 'thing.private')).toMatchObject({ ok: false, error: { code: 'permission_denied' } })
  expect(await listed(bob)).toEqual([])
  expect(await listed(cy)).toHaveLength(1)
  expect(await listed(ada)).toHaveLength(1)
  const { events } = await bob.call('event.list', { types: ['action.*'] })
  const own = events.filter(({ by }) => by !== daemonName)
  expect(own.map(({ type, fact }) => [type, 'code' in fact ? fact.code : undefined])).toEqual([
    ['action.invoked', undefined],
    ['action.completed', 'unknown_action'],
    ['action.invoked', undefined],
    ['action.completed', 'permission_denied'],
  ])
})

play('a call that nobody answers ends when its time is over', async ({ ada, bob, clock }) => {
  const calls = await offers(ada, 'thing.silent', { timeoutMs: 5_000 })
  const call = invoke(bob, 'thing.silent', {}, 60_000)
  await first(calls)
  await clock.passes(5_001)
  expect(await call).toMatchObject({ ok: false, error: { code: 'timeout' } })
})

play('a provider that withdraws an action or leaves ends its calls and its actions', async ({ ada, bob, cy }) => {
  const calls = await offers(ada, 'thing.one')
  await offers(cy, 'thing.two')
  const one = invoke(bob, 'thing.one')
  await first(calls)
  expect(await ada.call('action.withdraw', { name: 'thing.one' })).toEqual({ withdrawn: 1 })
  expect(await one).toMatchObject({ ok: false, error: { code: 'provider_offline' } })
  await refused(ada.call('action.withdraw', { name: 'thing.one' }), 'action.unknown', /You offer no action/)
  const two = invoke(bob, 'thing.two')
  await eventually(async () =>
    expect((await bob.call('event.list', { types: ['action.invoked'] })).events).toHaveLength(2),
  )
  await cy.leaves()
  expect(await two).toMatchObject({ ok: false, error: { code: 'provider_offline' } })
  expect(await listed(bob)).toEqual([])
})

play('the same call sent again runs once', async ({ ada, bob }) => {
  const calls = await offers(ada, 'thing.once')
  const input = { name: 'thing.once', input: {} }
  const running = bob.call('action.invoke', input, 'the-same')
  const { invocation } = await first(calls)
  await ada.call('action.answer', { invocation, output: 1 })
  expect(await bob.call('action.invoke', input, 'the-same')).toEqual(await running)
  expect(calls).toHaveLength(1)
})

play('an input or output that is too large is refused with the fix', async ({ ada, bob }) => {
  const calls = await offers(ada, 'thing.big')
  const big = 'x'.repeat(300 * 1024)
  await refused(invoke(bob, 'thing.big', { big }), 'input.invalid', /put the rest into a file/)
  void invoke(bob, 'thing.big').catch(() => {})
  const { invocation } = await first(calls)
  await refused(ada.call('action.answer', { invocation, output: big }), 'input.invalid', /put the rest into a file/)
})

playOnSocket(
  'after a restart of the daemon nothing is offered, and what ran has ended',
  async ({ ada, bob, house }) => {
    const calls = await offers(ada, 'thing.lost')
    const id = 'call-across-the-restart'
    const call = bob.call('action.invoke', { name: 'thing.lost', input: {} }, id)
    await first(calls)
    await house.stop()
    await house.start()
    // Asked again under the same id by the SDK, which waited for the daemon: the same invocation, and how it ended.
    expect(await call).toMatchObject({ ok: false, error: { code: 'provider_offline' } })
    expect(calls).toHaveLength(1)
  },
)
