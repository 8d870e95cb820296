// Standing: the rights of each way in, that nothing changes them afterwards, and that a name is exchanged whole or not at all.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import { PlayClock } from '../../../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../../../test/plays/houses.ts'
import type { CallContext } from '../../../src/broker/call.ts'
import type { Dispatch } from '../../../src/broker/dispatch.ts'
import { listAgents } from '../../../src/broker/presence/agent-list.ts'
import { giveProvisionalName } from '../../../src/broker/presence/provisional-names.ts'
import {
  type SessionOrigin,
  type Standing,
  standingOf,
  standingWithoutRights,
} from '../../../src/broker/sessions/standing.ts'
import type { DaemonCallScope } from '../../../src/broker/workspace.ts'
import { runAllSteps, type Steps } from '../../../src/core/steps.ts'

type Shown = { hasKey: boolean; name?: string }
const key = { hasKey: true }
const token = { hasKey: false, name: 'Ada' }
const nothing = { hasKey: false }

test.each<[SessionOrigin['door'], SessionOrigin['kind'], 'connection' | 'call', Shown, Standing['rank']]>([
  ['owner', 'program', 'connection', token, 'owner'],
  ['owner', 'program', 'connection', key, 'holder'],
  ['owner', 'model', 'connection', key, 'owner'],
  ['network', 'program', 'connection', token, 'agent'],
  ['network', 'program', 'connection', key, 'holder'],
  ['network', 'model', 'connection', key, 'agent'],
  ['network', 'program', 'call', key, 'holder'],
  ['network', 'model', 'call', key, 'holder'],
  ['network', 'program', 'call', { hasKey: true, name: 'Ada' }, 'agent'],
  ['network', 'model', 'call', { hasKey: true, name: 'Ada' }, 'agent'],
  ['open', 'program', 'connection', token, 'nobody'],
  ['open', 'program', 'connection', key, 'holder'],
  ['open', 'model', 'connection', nothing, 'nobody'],
  ['open', 'model', 'connection', key, 'agent'],
  ['open', 'program', 'call', nothing, 'nobody'],
  ['lift', 'model', 'connection', token, 'nobody'],
  ['lift', 'model', 'connection', key, 'nobody'],
  ['lift', 'program', 'connection', key, 'nobody'],
])('by the door %s, a %s, one %s, having shown %j: %s', (door, kind, how, shown, rank) => {
  const standing = standingOf({ door, kind, isStateless: how === 'call' }, shown, 'desk')
  const hasKey = shown.hasKey && door !== 'lift'
  expect(standing).toEqual({ door, kind, rank, hasKey, machine: 'desk' })
})

test('a run may do what the session that asked for it may, but as its own agent only', () => {
  const asked = (door: SessionOrigin['door'], shown: Shown) => {
    const asker = standingOf({ door, kind: 'program' }, shown)
    const { rank, kind, hasKey } = standingOf({ door, kind: 'program', asker }, { hasKey: true })
    return { rank, kind, hasKey }
  }
  expect(asked('owner', key)).toEqual({ rank: 'owner', kind: 'model', hasKey: true })
  expect(asked('network', key)).toEqual({ rank: 'agent', kind: 'model', hasKey: true })
  expect(asked('network', token)).toEqual({ rank: 'agent', kind: 'model', hasKey: false })
  expect(asked('open', nothing)).toEqual({ rank: 'nobody', kind: 'model', hasKey: false })
})

test('a standing cannot be changed at run time either', () => {
  const standing = standingOf({ door: 'network', kind: 'program' }, token)
  expect(() => Object.assign(standing, { rank: 'holder' })).toThrow(TypeError)
  expect(() => Object.assign(standingWithoutRights, { door: 'owner' })).toThrow(TypeError)
})

async function inHouse(play: (dispatch: Dispatch) => Promise<void>): Promise<void> {
  const house = new ProcessHouse(new PlayClock())
  await house.open('main')
  await play(house.dispatch('main'))
  await house.close()
}

const model = { door: 'network', kind: 'model' } as const

test('a given name is exchanged for the wanted one; the handle may be the former name', () =>
  inHouse(async (dispatch) => {
    const { workspace } = dispatch
    const { session } = await dispatch.openSession(model, {})
    giveProvisionalName(workspace, session, { name: 'codex' })
    session.handedMessages.add('m_of_the_former')
    const before = session.standing
    const input = { name: 'Ada', handle: 'codex' }
    expect(await dispatch.call(session, 'agent.register', input, 'c1')).toMatchObject({ output: { agent: 'Ada' } })
    expect([session.agent, session.provisional, session.isNameGiven]).toEqual(['Ada', undefined, false])
    expect([...session.handedMessages]).toEqual([])
    expect([workspace.sessions.isLive('codex'), workspace.store.view.agent('codex')]).toEqual([false, undefined])
    expect(session.standing).toBe(before)
    // The session keeps the name that it has chosen.
    await expect(dispatch.call(session, 'agent.register', { name: 'Bob' }, 'c2')).rejects.toMatchObject({
      refusal: { code: 'auth.denied' },
    })
  }))

test('when the wanted name is refused, the session keeps the given one', () =>
  inHouse(async (dispatch) => {
    const { workspace } = dispatch
    const { session } = await dispatch.openSession(model, {})
    giveProvisionalName(workspace, session, { name: 'codex' })
    const gone: string[] = []
    workspace.sessions.onChange((agent) => gone.push(agent))
    await dispatch.openSession('owner', { name: 'Ada' })
    gone.length = 0
    const taken = dispatch.call(session, 'agent.register', { name: 'Ada', strict: true }, 'c1')
    await expect(taken).rejects.toMatchObject({ refusal: { code: 'agent.name-taken' } })
    expect([session.agent, session.provisional?.profile.name, session.isNameGiven]).toEqual(['codex', 'codex', true])
    // Not for a moment did it act as nobody.
    expect(gone).toEqual([])
  }))

test('a chosen name stays, even if the given one is stored in the same moment', () =>
  inHouse(async (dispatch) => {
    const { session } = await dispatch.openSession(model, {})
    giveProvisionalName(dispatch.workspace, session, { name: 'codex' })
    const chosen = dispatch.call(session, 'agent.register', { name: 'Ada' }, 'c1')
    const spoken = dispatch.call(session, 'message.send', { to: '*', body: 'hello' }, 'c2')
    await Promise.all([chosen, spoken])
    expect([session.agent, session.isNameGiven]).toEqual(['Ada', false])
  }))

test('a session that leaves while the agents are listed is left out', () =>
  inHouse(async (dispatch) => {
    const { workspace } = dispatch
    const [leaving, staying] = [
      (await dispatch.openSession(model, {})).session,
      (await dispatch.openSession(model, {})).session,
    ]
    giveProvisionalName(workspace, leaving, { name: 'codex' })
    giveProvisionalName(workspace, staying, { name: 'codex-2' })
    const steps = listAgents({ workspace } as DaemonCallScope, { session: staying } as CallContext, {}) as Steps<
      OutputOf<'agent.list'>
    >
    // The first is chosen once the second is looked at.
    steps.next()
    steps.next()
    workspace.sessions.end(leaving)
    expect(runAllSteps(steps).agents.map(({ name }) => name)).toEqual(['codex-2'])
  }))

test('a given name that is stored by now can still be exchanged', () =>
  inHouse(async (dispatch) => {
    const { session } = await dispatch.openSession(model, {})
    giveProvisionalName(dispatch.workspace, session, { name: 'codex' })
    await dispatch.call(session, 'message.send', { to: '*', body: 'hello' }, 'c1')
    expect([session.agent, session.provisional, session.isNameGiven]).toEqual(['codex', undefined, true])
    await dispatch.call(session, 'agent.register', { name: 'Ada' }, 'c2')
    expect([session.agent, session.isNameGiven]).toEqual(['Ada', false])
  }))
