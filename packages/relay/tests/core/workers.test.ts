// Workers: the rights to wish for one and to act on it, and the changes that reports make.

import { limits } from '@agent-relay/sdk/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Reader, sees } from '../../src/core/sight.ts'
import { asAgent, asHolder, CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('lead', 'other', 'away')
  world.register('kim', { type: 'human', proven: true })
  world.live.add('lead').add('other').add('kim')
})

const wished = { cli: 'claude', cwd: '/w', isInjected: true }
const spawn = (name: string, by = 'lead', more: object = {}) =>
  world.give('worker.spawn', by, { name, ...wished, ...more })
const idOf = (name: string) => world.store.view.workers.byName(name)?.id as string
const report = (name: string, status: 'starting' | 'ready' | 'exited', more: object = {}) =>
  world.give('worker.report', 'agent-relay', { id: idOf(name), status, ...more })

test('a new name becomes an agent with its parent; the task is kept beside the fact', () => {
  const decided = spawn('fixer', 'lead', { task: 'Fix it', model: 'm', args: ['--x'] })
  expect(typesOf(decided)).toEqual(['agent.registered', 'channel.joined', 'channel.joined', 'worker.wished'])
  expect(JSON.stringify(decided)).not.toContain('Fix it')
  expect(world.store.view.workers.taskOf(idOf('fixer'))).toBe('Fix it')
  expect(world.store.view.agent('fixer')).toMatchObject({ parent: 'lead', cli: 'claude', model: 'm' })
  expect(world.store.view.workers.byName('fixer')).toMatchObject({ status: 'wished', wish: 'run', args: ['--x'] })
})

describe('names that are refused', () => {
  test.each([
    ['a running worker', 'fixer', 'worker.exists'],
    ['a live agent', 'other', 'agent.name-taken'],
    ['the daemon', 'agent-relay', 'agent.name-taken'],
    ['somebody who is away and is not its own', 'away', 'agent.name-offline'],
    ['a person who is away', 'kim2', 'agent.name-offline'],
  ])('%s', (_why, name, code) => {
    spawn('fixer')
    world.register('kim2', { type: 'human', proven: true })
    expect(codeOf(spawn(name))).toBe(code)
  })
})

test('an agent may start its own former worker again under the same name', () => {
  spawn('fixer')
  report('fixer', 'exited', { reason: 'done' })
  expect(typesOf(spawn('fixer', 'lead', { cli: 'codex' }))).toEqual(['agent.updated', 'worker.wished'])
  expect(codeOf(spawn('fixer'))).toBe('worker.exists')
})

test('while a worker runs, nobody takes its name without its token, even before it has a session', () => {
  spawn('fixer')
  expect(codeOf(world.register('fixer', { strict: true }))).toBe('agent.name-taken')
  expect(outcomeOf(world.register('fixer'))).toMatchObject({ agent: 'fixer-2' })
  report('fixer', 'exited')
  expect(outcomeOf(world.register('fixer'))).toMatchObject({ agent: 'fixer' })
})

test('the number of workers that run at once is limited', () => {
  for (let n = 0; n < limits.workersMax; n++) expect(codeOf(spawn(`w${n}`))).toBe('done')
  expect(codeOf(spawn('one-more'))).toBe('worker.too-many')
  report('w0', 'exited')
  expect(codeOf(spawn('one-more'))).toBe('done')
})

describe('who may release, pause, resume and interrupt', () => {
  beforeEach(() => {
    spawn('fixer')
    spawn('helper', 'fixer')
  })
  test.each([
    ['its parent', 'helper', 'fixer', false, 'done'],
    ["its parent's parent", 'helper', 'lead', false, 'done'],
    ['a person', 'helper', 'kim', false, 'done'],
    ['the holder of the key', 'helper', 'other', true, 'done'],
    ['somebody else', 'helper', 'other', false, 'worker.unknown'],
    ['itself', 'helper', 'helper', false, 'worker.not-yours'],
    ['of an unknown one', 'nobody', 'lead', false, 'worker.unknown'],
  ])('%s', (_why, name, by, isHolder, code) => {
    const standing = isHolder ? asHolder : asAgent
    expect(codeOf(world.give('worker.interrupt', by, { name, standing, turn: 'under way' }))).toBe(code)
    for (const rule of ['worker.pause', 'worker.resume', 'worker.release'] as const)
      expect(codeOf(world.give(rule, by, { name, standing }))).toBe(code)
  })
  test.each([
    ['under way', 'done'],
    ['none', 'worker.no-turn'],
    ['starting', 'worker.no-turn'],
    ['unknown', 'worker.no-interrupt'],
  ] as const)('an interrupt of a turn that is %s', (turn, code) => {
    const interrupt = (by: string) =>
      codeOf(world.give('worker.interrupt', by, { name: 'helper', standing: asAgent, turn }))
    expect(interrupt('lead')).toBe(code)
    // Who may not, learns nothing of its turn.
    expect(interrupt('other')).toBe('worker.unknown')
    report('helper', 'exited')
    expect(interrupt('lead')).toBe('worker.exited')
  })
  test('a released worker cannot be resumed', () => {
    world.give('worker.release', 'lead', { name: 'helper', standing: asAgent })
    world.give('worker.resume', 'lead', { name: 'helper', standing: asAgent })
    expect(world.store.view.workers.byName('helper')?.wish).toBe('gone')
  })
  test('two agents that name each other as parent do not make an endless loop', () => {
    world.register('other', { parent: 'fixer', proven: true })
    world.register('fixer', { parent: 'other', proven: true })
    expect(codeOf(world.give('worker.release', 'away', { name: 'helper', standing: asAgent }))).toBe('worker.unknown')
  })
})

test('the screen of a worker is seen by its parent, people, the key holder, and agents that the policy names', () => {
  spawn('fixer')
  const row = world.store.view.workers.byName('fixer') as NonNullable<
    ReturnType<typeof world.store.view.workers.byName>
  >
  const may = (agent: string, rank: Reader['standing']['rank'] = 'agent') =>
    sees(world.store.view, { agent, standing: { rank } }, 'terminal', row)
  expect([may('lead'), may('kim'), may('other', 'holder'), may('other')]).toEqual([true, true, true, false])
  world.give('workspace.set-policy', 'agent-relay', { terminal: { other: ['fixer'], away: ['nobody'] }, writers: [] })
  expect([may('other'), may('away')]).toEqual([true, false])
  world.give('workspace.set-policy', 'agent-relay', { terminal: { '*': ['fixer'] } })
  expect([may('other'), may('away')]).toEqual([true, true])
  // On an open port anybody may say any name.
  expect([may('lead', 'nobody'), may('kim', 'nobody'), may('other', 'nobody')]).toEqual([false, false, false])
})

test('a report without news stores nothing; an exited worker stays exited and loses its tokens', () => {
  spawn('fixer')
  world.give('worker.issue-token', 'agent-relay', { id: idOf('fixer'), tokenHash: 'h' })
  expect(world.store.queries.tokenOwner('h')?.agent).toBe('fixer')
  expect(typesOf(report('fixer', 'starting', { pid: 7 }))).toEqual(['worker.changed'])
  expect(typesOf(report('fixer', 'starting'))).toEqual([])
  report('fixer', 'ready', { screen: 'of no end' })
  expect(world.store.view.workers.lastScreenOf(idOf('fixer'))).toBeUndefined()
  expect(typesOf(report('fixer', 'exited', { code: 1, reason: 'killed', screen: 'last words' }))).toEqual([
    'worker.changed',
    'agent.tokens-revoked',
  ])
  expect(world.store.queries.tokenOwner('h')).toBeUndefined()
  expect(typesOf(report('fixer', 'ready'))).toEqual([])
  expect(world.store.view.workers.byName('fixer')).toMatchObject({
    status: 'exited',
    pid: 7,
    code: 1,
    reason: 'killed',
  })
  const before = world.store.view.workers.byName('fixer')
  world.store.rebuild()
  expect(world.store.view.workers.byName('fixer')).toEqual(before)
  expect(world.store.view.workers.lastScreenOf(idOf('fixer'))).toBe('last words')
  expect(codeOf(world.give('worker.issue-token', 'agent-relay', { id: idOf('fixer'), tokenHash: 'i' }))).toBe(
    'worker.unknown',
  )
})
