// The outbox on two real machines: messages queued while the database is unreachable are sent in order and once, or their sender is told.

import { limits } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Actor } from '../../../../test/plays/play.ts'
import { refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'

let place: LaptopAndBox
let alice: Actor
let bob: Actor

beforeAll(async () => {
  place = await LaptopAndBox.start()
  alice = await place.enter(place.laptop, 'alice')
  bob = await place.enter(place.box, 'bob')
  await until(async () => (await alice.send('bob', 'hello').catch(() => undefined)) !== undefined)
  await bob.takesSoon('hello')
})
afterAll(() => place?.close())

const queue = (actor: Actor, body: string, to = 'bob') => actor.call('message.queue', { to, body })
const waiting = async (actor: Actor) => (await actor.call('outbox.list', {})).queued.map(({ preview }) => preview)
const trouble = async () => (await place.laptop.open(workspace)).workspace.engine.trouble
const isCut = () => until(trouble)
const isBack = () => until(async () => (await trouble()) === undefined)

test('what can be sent is sent at once', async () => {
  expect(await queue(alice, 'now')).toMatchObject({ sent: { id: expect.stringMatching(/^m_/), to: 'bob' } })
  await bob.takesSoon('now')
  expect(await waiting(alice)).toEqual([])
})

test('while the database is away it waits, in order, also over a restart; then each comes once', async () => {
  place.server.kill()
  await isCut()
  const bodies = ['one', 'two', 'three', 'four']
  const ids: (string | undefined)[] = []
  for (const [n, body] of bodies.entries()) {
    const { queued, sent } = await queue(alice, body)
    expect([sent, queued?.ahead]).toEqual([undefined, n])
    ids.push(queued?.id)
  }
  await refused(alice.send('bob', 'at once'), 'cluster.unreachable', /queue\(to, body\)/)
  expect(await waiting(alice)).toEqual(bodies)
  await refused(bob.call('outbox.drop', { id: ids[2] as string }), 'outbox.unknown', /You have no waiting message/)
  expect(await alice.call('outbox.drop', { id: ids[2] as string })).toMatchObject({ body: 'three', to: 'bob' })
  const entry = (await place.laptop.control('workspace.list', {})).workspaces.find(({ name }) => name === workspace)
  expect(entry?.queued).toBe(3)
  expect(await alice.call('workspace.status', {})).toMatchObject({ queued: 3 })
  await place.laptop.stop()
  await place.laptop.start()
  await place.server.resume()
  await bob.takesSoon('one', 'two', 'four')
  await until(async () => (await waiting(alice)).length === 0)
  await bob.takes()
  expect((await alice.call('workspace.status', {})).queued).toBeUndefined()
})

// All in one outage, since the first call of each waits for ten seconds until it is told that nobody answers.
test('while it is away: a call that is asked again, a full outbox, and what cannot be sent after all', async () => {
  const dan = await place.enter(place.laptop, 'dan')
  place.server.kill()
  await isCut()
  // Whether it waits or was sent, a call that is asked again is one message.
  const { dispatch } = (await place.laptop.open(workspace)) as never as {
    dispatch: { call(session: unknown, op: string, input: object, id: string): Promise<{ output: unknown }> }
  }
  const { sessions } = (await place.laptop.open(workspace)).workspace
  const session = sessions.all().find(({ agent }) => agent === 'alice')
  const ask = () => dispatch.call(session, 'message.queue', { to: 'bob', body: 'once' }, 'c_the_same')
  expect((await ask()).output).toEqual((await ask()).output)
  const other = dispatch.call(session, 'message.queue', { to: 'bob', body: 'other' }, 'c_the_same')
  await expect(other).rejects.toMatchObject({ refusal: { code: 'call.reused' } })

  await fill(dan)

  await queue(alice, 'to nobody', 'nobody')
  await queue(alice, 'to bob')
  await place.server.resume()
  await isBack()
  await bob.takesSoon('once', 'the first of alice', 'the second of alice', 'to bob')
  const told: { from: string; body: string }[] = []
  await until(async () => {
    told.push(...(await alice.call('inbox.take', {})).messages)
    return told.length > 0
  })
  const [{ from, body } = { from: '', body: '' }] = told
  expect([from, body]).toEqual([
    'agent-relay',
    expect.stringMatching(/^Your message to nobody, queued at \S+, was not sent: Agent not found: nobody/),
  ])
  expect(await ask()).toMatchObject({ output: { sent: { to: 'bob' } } })
  await bob.takes()
})

/** One sender fills its own part of the outbox and nobody else's, and a list of the largest messages is short. One message of Alice waits already. */
async function fill(dan: Actor): Promise<void> {
  const bytes = limits.bodyBytesMax
  const fits = Math.floor(limits.outboxBytesOfSenderMax / (bytes + 100))
  for (let n = 0; n < fits; n++) await queue(dan, String(n).padEnd(bytes, 'x'))
  await refused(queue(dan, 'y'.repeat(bytes)), 'outbox.full', /of yours .*250, and 4 MiB.* neither stored nor queued/)
  const { queued: listed } = await dan.call('outbox.list', {})
  expect(listed.map(({ preview }) => preview.length)).toEqual(Array(fits).fill(limits.lastWordsCharsMax))
  expect((await queue(alice, 'the first of alice')).queued).toMatchObject({ ahead: fits + 1 })
  const dropped = await Promise.all(listed.map(({ id }) => dan.call('outbox.drop', { id })))
  expect(dropped.map(({ body }) => body.length)).toEqual(Array(fits).fill(bytes))

  for (let n = 0; n < limits.outboxOfSenderMax; n++) await queue(dan, String(n))
  await refused(queue(dan, 'one more'), 'outbox.full', /of yours/)
  expect((await queue(alice, 'the second of alice')).queued).toMatchObject({ ahead: limits.outboxOfSenderMax + 2 })
  for (const { id } of (await dan.call('outbox.list', {})).queued) await dan.call('outbox.drop', { id })
  const { workspaces, clusterFault } = await place.laptop.control('workspace.list', {})
  expect(workspaces).toMatchObject([{ queued: 3 }])
  expect(clusterFault).toMatch(/^The cluster cannot be reached \(.+: Nothing listens there\..+\)\. Try again later\.$/)
}
