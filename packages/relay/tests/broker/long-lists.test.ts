// Lists of thousands of runs or actions: right with every filter, and made in steps, so that a search without results holds nobody up.

import type { Fact, RunState } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import type { Steps } from '../../src/core/steps.ts'
import type { RunRow } from '../../src/core/view.ts'
import { CoreWorld } from '../core/core-world.ts'

function counted<T>(steps: Steps<T>): { value: T; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = steps.next()
    if (done) return { value, pauses }
  }
}

function filled(count: number): { world: CoreWorld; append(facts: Fact[]): void } {
  const world = new CoreWorld().cast('ada', 'bob', 'cy')
  let at = 0
  const append = (facts: Fact[]) =>
    void world.store.append({ at: at++, by: 'ada', cause: `x${at}`, facts, rule: 'test', outcome: {}, body: 'do' })
  const names = ['ada', 'bob', 'cy'] as const
  world.store.transact(() => {
    for (let i = 0; i < count; i++) {
      const [agent, parent] = [names[i % 3] as string, names[(i >> 2) % 3] as string]
      append([{ type: 'run.started', id: `run_${i}`, agent, parent, harness: 'external' }])
      if (i % 5 !== 0) append([{ type: 'run.stopped', id: `run_${i}`, agent }])
    }
  })
  return { world, append }
}

test('the list of runs: of everybody or of one agent, of any status, newest first', () => {
  const { world } = filled(700)
  const { runs } = world.store.view
  const every = Array.from({ length: 700 }, (_, i) => runs.byId(`run_${699 - i}`) as RunRow)
  for (const agent of [undefined, 'ada', 'bob', 'nobody'])
    for (const status of [undefined, 'running', 'stopped', 'completed'] as (RunState | undefined)[])
      for (const limit of [1, 100, 1_000]) {
        const isIt = (run: RunRow) =>
          (agent === undefined || run.agent === agent || run.parent === agent) &&
          (status === undefined || run.status === status)
        const { value, pauses } = counted(runs.list(agent, status, limit))
        expect(value.map(({ id }) => id)).toEqual(
          every
            .filter(isIt)
            .slice(0, limit)
            .map(({ id }) => id),
        )
        // None is looked at without a pause.
        if (agent === undefined && status === 'completed') expect(pauses).toBeGreaterThanOrEqual(700)
      }
  expect([runs.currentRunOf('ada')?.agent, runs.currentRunOf('nobody')]).toEqual(['ada', undefined])
})

test('events of one type are found from either end, wherever the range begins', () => {
  const { world, append } = filled(700)
  const { journal } = world.store
  world.store.transact(() =>
    append([{ type: 'run.completed', id: 'run_5', agent: 'cy', summary: '"type":"channel.left"' }]),
  )
  const all = journal.read(0, 10_000)
  const find = (types: string[], after: number, to: number, isUpward: boolean) =>
    [...journal.entryNumbersHolding(types, { after, to, isUpward })].filter((seq) => seq !== undefined)
  for (const types of [
    ['run.stopped'],
    ['run.*', 'agent.registered'],
    ['*'],
    ['run.nothing'],
    [],
    ['agent.*', 'channel.*'],
  ])
    for (const [after, to] of [
      [0, journal.lastSeq],
      [17, 600],
      [600, 600],
    ] as [number, number][]) {
      const isOf = (type: string) =>
        types.some((each) => (each.endsWith('*') ? type.startsWith(each.slice(0, -1)) : each === type))
      const wanted = all
        .filter(({ seq, facts }) => seq > after && seq <= to && facts.some(({ type }) => isOf(type)))
        .map(({ seq }) => seq)
      expect(find(types, after, to, true)).toEqual(wanted)
      expect(find(types, after, to, false)).toEqual(wanted.reverse())
    }
  // Words in quotes are written otherwise.
  expect(find(['channel.left'], 0, journal.lastSeq, true)).toEqual([])
  const { pauses } = counted(
    (function* (): Steps<void> {
      for (const seq of journal.entryNumbersHolding(['action.*'], { after: 0, to: journal.lastSeq, isUpward: true }))
        yield seq as undefined
    })(),
  )
  expect(pauses).toBe(Math.ceil(journal.lastSeq / 256))
})

test('the list of actions holds all of them, each once, read a few at a time', () => {
  const { world, append } = filled(0)
  const names = Array.from({ length: 100 }, (_, i) => `do.${String(i).padStart(3, '0')}`)
  world.store.transact(() => {
    for (const name of names) {
      const action = { name, provider: 'ada', session: 's', description: 'd', inputSchema: {}, timeoutMs: 1 }
      append([{ type: 'action.registered', ...action }])
    }
  })
  const { view } = world.store
  const first = [...view.actions.all()]
  expect(first.map(({ name }) => name)).toEqual(names)
  expect([...view.actions.all()].every((action, at) => action === first[at])).toBe(true)
  const some = view.actions.all()[Symbol.iterator]()
  some.next()
  // Nothing stands open between two of them: it can be written meanwhile.
  world.store.transact(() => append([{ type: 'action.withdrawn', name: 'do.099', provider: 'ada' }]))
  let left = 1
  while (!some.next().done) left++
  expect(left).toBe(99)
})
