// Repeating a task or contract: whose may be repeated, by whom, and for whom the new one works.

import { beforeEach, describe, expect, test } from 'vitest'
import { findFormerRun, findFormerWorker } from '../../src/core/repeat-work.ts'
import { taskOf } from '../../src/core/tasks.ts'
import { asAgent, asHolder, CoreWorld, codeOf, outcomeOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('lead', 'other')
  world.register('kim', { type: 'human', proven: true })
})

const asked = { cli: 'claude', cwd: '/w', args: ['--given'], worktree: true }
const wished = { cli: 'claude', cwd: '/w/tree', isInjected: true, args: ['--set', '--given'], asked }
const spawn = (more: object = {}, by = 'lead') =>
  world.give('worker.spawn', by, { name: 'fixer', task: 'Fix it.\nAll of it.', ...wished, ...more })
const exit = () => {
  const { id } = world.store.view.workers.byName('fixer') as { id: string }
  world.give('worker.report', 'agent-relay', { id, status: 'exited', reason: 'done' })
  return id
}
const former = (agent: string, name = 'fixer', standing: typeof asAgent | typeof asHolder = asAgent) =>
  findFormerWorker(world.store.view, { agent, standing }, { name, machine: world.machine })
const refusalOf = (found: object) => ('refusal' in found ? (found.refusal as { code: string; message: string }) : found)

describe('a worker', () => {
  test('what was asked is known again, not what became of it', () => {
    spawn()
    exit()
    expect(former('lead')).toMatchObject({ task: 'Fix it.\nAll of it.', worker: { asked, parent: 'lead' } })
  })

  test('its parent and people may, and nobody else learns of it', () => {
    spawn()
    exit()
    for (const [agent, standing] of [
      ['lead', asAgent],
      ['kim', asAgent],
      ['anybody', asHolder],
    ] as const)
      expect(former(agent, 'fixer', standing)).toHaveProperty('task')
    expect(refusalOf(former('other'))).toMatchObject({ code: 'worker.unknown' })
    expect(refusalOf(former('lead', 'fixr'))).toMatchObject({ message: expect.stringContaining('Did you mean fixer?') })
    expect(refusalOf(former('other', 'fixr'))).toMatchObject({ message: expect.not.stringContaining('Did you mean') })
  })

  test('one that was given no task, ran elsewhere, or was hired by an earlier version is refused', () => {
    spawn({ task: undefined })
    exit()
    expect(refusalOf(former('lead'))).toMatchObject({ code: 'worker.no-task' })
    spawn({ asked: undefined })
    exit()
    expect(refusalOf(former('lead'))).toMatchObject({ message: expect.stringContaining('an earlier version hired it') })
    spawn()
    exit()
    world.machine = 'desk'
    // From before the workspace was shared.
    expect(former('lead')).toHaveProperty('task')
    spawn()
    exit()
    world.machine = 'lap'
    expect(refusalOf(former('lead'))).toMatchObject({ code: 'worker.elsewhere' })
    world.machine = undefined
    expect(former('lead')).toHaveProperty('task')
  })

  test('a parent that was archived has nobody work for it again', () => {
    spawn()
    const again = exit()
    expect(codeOf(world.give('agent.retire', 'kim', { name: 'lead' }))).toBe('done')
    expect(codeOf(spawn({ again, parent: 'lead' }, 'kim'))).toBe('agent.name-retired')
  })

  test('it works for the same parent whoever asks, and says whose task it has; one that runs is refused', () => {
    spawn()
    const again = { again: world.store.view.workers.byName('fixer')?.id, parent: 'lead' }
    expect(codeOf(spawn(again, 'kim'))).toBe('worker.running')
    expect(codeOf(spawn({}, 'lead'))).toBe('worker.exists')
    exit()
    expect(codeOf(spawn({}, 'kim'))).toBe('agent.name-offline')
    expect(codeOf(spawn(again, 'kim'))).toBe('done')
    expect(world.store.view.workers.byName('fixer')).toMatchObject({ ...again, asked, status: 'wished' })
    expect(world.store.view.agent('fixer')).toMatchObject({ parent: 'lead' })
  })
})

const start = (more: object = {}, by = 'lead') =>
  outcomeOf(world.give('run.start', by, { contract: 'Count.\nAll files.', harness: 'claude', worktree: true, ...more }))
    .run as string
const formerOf = (run: string, agent: string) =>
  findFormerRun(world.store.view, { agent, standing: asAgent }, { run, machine: world.machine })
const stop = (run: string) => world.give('run.stop', 'kim', { run, standing: asHolder })

describe('a run', () => {
  test('its contract and how it was carried out are known again, by its id and by its agent', () => {
    const run = start({ model: 'm', cwd: '/w' })
    expect(refusalOf(formerOf(run, 'lead'))).toMatchObject({ code: 'run.running' })
    stop(run)
    const known = { contract: 'Count.\nAll files.', run: { id: run, harness: 'claude', model: 'm', cwd: '/w' } }
    expect(formerOf(run, 'lead')).toMatchObject({ ...known, run: { ...known.run, worktree: true } })
    const { agent } = world.store.view.runs.byId(run) as { agent: string }
    expect(formerOf(agent, 'lead')).toMatchObject(known)
  })

  test('who asked for it and people may; who carried it out may not, since it would speak for the other', () => {
    const run = start({ harness: 'external', agent: 'other', worktree: undefined })
    stop(run)
    expect(formerOf(run, 'lead')).toHaveProperty('contract')
    expect(formerOf(run, 'kim')).toHaveProperty('contract')
    expect(refusalOf(formerOf(run, 'other'))).toMatchObject({ code: 'run.not-yours' })
    world.cast('stranger')
    expect(refusalOf(formerOf(run, 'stranger'))).toMatchObject({ code: 'run.unknown' })
  })

  test('what was carried out elsewhere is refused; an agent that is told of it may be anywhere', () => {
    world.machine = 'desk'
    const [ran, told] = [start(), start({ harness: 'external', agent: 'other', worktree: undefined })]
    stop(ran)
    stop(told)
    world.machine = 'lap'
    expect(refusalOf(formerOf(ran, 'lead'))).toMatchObject({ code: 'run.elsewhere' })
    expect(formerOf(told, 'lead')).toHaveProperty('contract')
  })

  test('it is asked for by who asked for the former one', () => {
    const run = start()
    stop(run)
    const second = start({ again: run, parent: 'lead' }, 'kim')
    expect(world.store.view.runs.byId(second)).toMatchObject({ parent: 'lead', again: run, worktree: true })
  })

  test('its worker is not given its task: that names a run which has ended', () => {
    const run = start()
    const { agent: name } = world.store.view.runs.byId(run) as { agent: string }
    spawn({ name, task: 'You work by yourself …' })
    stop(run)
    expect(refusalOf(former('lead', name))).toMatchObject({ code: 'worker.of-run' })
  })
})

test('what an agent has in hand is shown in a line or whole, to those who may see it', () => {
  const { view } = world.store
  const task = (reader: string, name: string, whole = false) =>
    taskOf(view, { agent: reader, standing: asAgent }, name, whole)
  spawn({ task: '## Fix it.\nAll of it.' })
  expect([task('lead', 'fixer'), task('lead', 'fixer', true)]).toEqual(['Fix it.', '## Fix it.\nAll of it.'])
  expect([task('kim', 'fixer'), task('other', 'fixer'), task('lead', 'lead')]).toEqual([
    'Fix it.',
    undefined,
    undefined,
  ])
  exit()
  expect(task('lead', 'fixer')).toBeUndefined()
  const run = start({ harness: 'external', agent: 'other' })
  expect([task('lead', 'other'), task('other', 'other', true)]).toEqual(['Count.', 'Count.\nAll files.'])
  expect(task('fixer', 'other')).toBeUndefined()
  stop(run)
  expect(task('lead', 'other')).toBeUndefined()
})
