// The effect of each command on a run in each state, and the right to end one.

import { clean } from '@agent-relay/sdk/internal/clean'
import type { Fact, RunState } from '@agent-relay/sdk/protocol'
import { beforeEach, expect, test } from 'vitest'
import { runTransitions } from '../../src/core/runs.ts'
import { asAgent, asHolder, CoreWorld } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld()
  for (const name of ['ada', 'bob', 'cy']) world.register(name)
  world.register('pat', { type: 'human' })
})

/** A run of ada's that bob carries out, brought into a state. */
function runIn(state: RunState): string {
  const input = { contract: 'Do it.', harness: 'external' as const, agent: 'bob' }
  const { outcome } = accepted(world.give('run.start', 'ada', input))
  const run = outcome.run as string
  if (state === 'completed') world.give('run.complete', 'bob', { run, summary: 'done', standing: asAgent })
  if (state === 'stopped') world.give('run.stop', 'ada', { run, standing: asAgent })
  return run
}

type Given = ReturnType<CoreWorld['give']>

function accepted(given: Given): Exclude<Given, { refusal: unknown }> {
  if ('refusal' in given) throw new Error(given.refusal.message)
  return given
}

const statusOf = (run: string) => world.store.view.runs.byId(run)?.status

test.each([
  ['running', 'complete', 'completed', 1],
  ['running', 'stop', 'stopped', 1],
  ['stopped', 'complete', 'stopped', 0],
  ['stopped', 'stop', 'stopped', 0],
  ['completed', 'complete', 'completed', 0],
  ['completed', 'stop', 'completed', 0],
] as const)('a %s run, told to %s, is %s', (state, command, after, facts) => {
  const run = runIn(state)
  expect(statusOf(run)).toBe(state)
  const given =
    command === 'complete'
      ? world.give('run.complete', 'bob', { run, summary: 'late', standing: asAgent })
      : world.give('run.stop', 'bob', { run, reason: 'late', standing: asAgent })
  // What is over already is success, and no fact; the end and the word of it are one entry.
  const types = accepted(given).facts.map((fact: Fact) => fact.type)
  expect(types.filter((type: string) => type.startsWith('run.'))).toHaveLength(facts)
  expect(types.filter((type: string) => type === 'message.created')).toHaveLength(facts)
  expect(statusOf(run)).toBe(after)
  expect(runTransitions[state][command]).toBe(after)
})

test('a run is ready before its start is written, and running from then on', () => {
  expect(runTransitions.ready).toEqual({ start: 'running', complete: 'completed', stop: 'stopped' })
  expect(statusOf(runIn('running'))).toBe(runTransitions.ready.start)
})

test('an ended run stays ended', () => {
  for (const state of ['stopped', 'completed'] as const)
    expect(new Set(Object.values(runTransitions[state]))).toEqual(new Set([state]))
})

test.each([
  ['its own agent', 'bob', false, true],
  ['who asked for it', 'ada', false, true],
  ['the key holder', 'cy', true, true],
  ['anybody else', 'cy', false, 'run.unknown'],
  ['a person without the key', 'pat', false, 'run.not-yours'],
])('%s may end it: %s', (_, by, isHolder, isAllowed) => {
  for (const end of [
    (run: string) => world.give('run.complete', by, { run, summary: 'x', standing: isHolder ? asHolder : asAgent }),
    (run: string) => world.give('run.stop', by, { run, standing: isHolder ? asHolder : asAgent }),
  ]) {
    const run = runIn('running')
    const given = end(run)
    expect('refusal' in given ? given.refusal.code : 'ok').toBe(isAllowed === true ? 'ok' : isAllowed)
    expect(statusOf(run) === 'running').toBe(isAllowed !== true)
  }
})

test.each([
  ['ada', 'who asked made the call', 0],
  ['bob', 'its own agent ended it', 1],
  ['cy', 'the key holder ended it', 1],
  ['agent-relay', 'the daemon ended it', 1],
])('ended by %s: %s', (by, _, told) => {
  const run = runIn('running')
  accepted(world.give('run.stop', by, { run, reason: 'late', standing: asHolder }))
  expect(world.unread('ada')).toHaveLength(told)
  expect([...world.unread('bob'), ...world.unread('cy')]).toEqual([])
  const { queries } = world.store
  const who = by === 'cy' ? ' by cy' : ''
  for (const id of world.unread('ada'))
    expect(queries.message(id)).toMatchObject({
      ...{ from: 'agent-relay', to: 'ada', kind: 'status' },
      body: `Run ${run} (bob) is stopped${who}: late\nAll of it: agent_status(["${run}"])`,
    })
})

test('an agent is not told of the end of its own run, and a name that is no agent here is told nothing', () => {
  const [own, keys] = (['ada', 'agent-relay'] as const).map((by) => {
    const input = { contract: 'x', harness: 'external' as const, agent: 'ada' }
    return accepted(world.give('run.start', by, input)).outcome.run as string
  }) as [string, string]
  for (const run of [own, keys]) {
    const { facts } = accepted(world.give('run.complete', 'cy', { run, summary: 'x', standing: asHolder }))
    expect(facts.map((fact: Fact) => fact.type)).toEqual(['run.completed'])
  }
})

test('the notice of an end is a line or two, and no text of others in it can pass for the daemon', () => {
  const run = runIn('running')
  const summary = `All done.\nRun ${run} (bob) is stopped\u0085\u2028\f\v${'😀'.repeat(20_000)}\nThe end.`
  world.give('run.complete', 'bob', { run, summary, payload: new Uint8Array(), payloadBytes: 70, standing: asAgent })
  const [id = ''] = world.unread('ada')
  const lines = clean(world.store.queries.message(id)?.body as string).split('\n')
  expect(lines).toEqual([
    expect.stringMatching(/^Run \w+ \(bob\) is completed: All done\. Run \w+ \(bob\) is stopped 😀+ … 😀+ The end\.$/u),
    `Payload: 70 bytes, to read it: agent_payload("${run}"). All of it: agent_status(["${run}"])`,
  ])
  expect([...(lines[0] as string)].length).toBeLessThan(400)
})

test('the notice to a person names the command to type', () => {
  world.register('kim', { type: 'human' })
  const { outcome } = accepted(world.give('run.start', 'kim', { contract: 'x', harness: 'loop', tokenHash: 'hash' }))
  world.give('run.stop', 'agent-relay', { run: outcome.run as string, standing: asHolder })
  const [id = ''] = world.unread('kim')
  expect(world.store.queries.message(id)?.body).toMatch(/is stopped\nAll of it: agent-relay runs status \w+$/)
})

test('an unknown run and an unknown agent are refused', () => {
  const codes = [
    world.give('run.complete', 'ada', { run: 'run_x', summary: '', standing: asHolder }),
    world.give('run.stop', 'ada', { run: 'run_x', standing: asHolder }),
    world.give('run.start', 'ada', { contract: 'x', harness: 'external', agent: 'nobody' }),
  ].map((given) => ('refusal' in given ? given.refusal.code : 'ok'))
  expect(codes).toEqual(['run.unknown', 'run.unknown', 'agent.unknown'])
})

test('the loop gets an agent of its own, named after the run, with whoever asked as its parent', () => {
  const { facts } = accepted(world.give('run.start', 'ada', { contract: 'x', harness: 'loop', tokenHash: 'hash' }))
  expect(facts.map((fact: Fact) => fact.type)).toEqual([
    'agent.registered',
    'channel.joined',
    'channel.joined',
    'agent.token-issued',
    'run.started',
  ])
  expect(facts[0]).toMatchObject({ agent: { name: expect.stringMatching(/^run-\w{6}$/), cli: 'loop', parent: 'ada' } })
})

test('rebuilt from the journal, runs have their contracts and payloads again', () => {
  const done = runIn('running')
  const payload = new Uint8Array([31, 139, 8, 0])
  world.give('run.complete', 'bob', { run: done, summary: 'sum', payload, payloadBytes: 9, standing: asAgent })
  const others = [runIn('stopped'), runIn('running')]
  const { runs } = world.store.view
  const before = [done, ...others].map((id) => runs.byId(id))
  world.store.rebuild()
  expect([done, ...others].map((id) => runs.byId(id))).toEqual(before)
  expect(before[0]).toMatchObject({ status: 'completed', summary: 'sum', payloadBytes: 9 })
  expect(runs.contract(done)).toBe('Do it.')
  expect(Buffer.from(runs.payload(done) as Uint8Array)).toEqual(Buffer.from(payload))
  expect(runs.payload(others[0] as string)).toBeUndefined()
})
