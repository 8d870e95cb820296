// The rules in a world of several machines: an agent live elsewhere is live, and a command starts its programs here.

import { limits } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import { CoreWorld, codeOf, type Decided } from './core-world.ts'

const input = { cli: 'shell', cwd: '/', isInjected: false }
const spawn = (world: CoreWorld, name: string) => world.give('worker.spawn', 'ada', { ...input, name, task: 'do' })
const machinesOf = (decided: Decided) =>
  'refusal' in decided ? [] : decided.facts.flatMap((fact) => ('machine' in fact ? [fact.machine] : []))

test('on one machine alone, no fact names a machine', () => {
  const world = new CoreWorld().cast('ada')
  spawn(world, 'wk')
  world.give('run.start', 'ada', { contract: 'do', harness: 'loop' })
  const action = { name: 'do.it', description: 'd', inputSchema: {} }
  world.give('action.register', 'ada', action, 's1')
  world.give('action.invoke', 'ada', { name: 'do.it', inputJson: '1', inputBytes: 1 })
  expect(JSON.stringify(world.store.journal.read(0, 100))).not.toContain('machine')
  const { view } = world.store
  const rows = [...view.workers.running(), ...view.runs.running(), ...view.actions.all(), ...view.actions.running()]
  expect(rows.map(({ machine }) => machine)).toEqual(rows.map(() => undefined))
})

test('workers, runs and actions carry the machine that they live on, also after a rebuild', () => {
  const world = new CoreWorld().cast('ada')
  world.machine = 'desk'
  world.live.add('s1')
  // A new agent is at home where its program runs.
  expect(machinesOf(spawn(world, 'wk'))).toEqual(['desk', 'desk'])
  expect(machinesOf(world.give('run.start', 'ada', { contract: 'do', harness: 'loop' }))).toEqual(['desk'])
  const action = { name: 'do.it', description: 'd', inputSchema: {} }
  expect(machinesOf(world.give('action.register', 'ada', action, 's1'))).toEqual(['desk'])
  // A call goes to where the action is, wherever it is made.
  world.machine = 'laptop'
  const invoked = world.give('action.invoke', 'ada', { name: 'do.it', inputJson: '1', inputBytes: 1 })
  expect(machinesOf(invoked)).toEqual(['desk'])
  const rows = () => {
    const { view } = world.store
    return [...view.workers.running(), ...view.runs.running(), ...view.actions.all(), ...view.actions.running()]
  }
  const before = rows()
  expect(before.map(({ machine }) => machine)).toEqual(['desk', 'desk', 'desk', 'desk'])
  world.store.rebuild()
  expect(rows()).toEqual(before)
})

test('the number of programs is counted per machine, but a name is used once on all of them', () => {
  const world = new CoreWorld().cast('ada')
  world.machine = 'desk'
  for (let i = 0; i < limits.workersMax; i++) expect(codeOf(spawn(world, `desk-${i}`))).toBe('done')
  expect(codeOf(spawn(world, 'one-more'))).toBe('worker.too-many')
  world.machine = 'laptop'
  expect(codeOf(spawn(world, 'one-more'))).toBe('done')
  expect(codeOf(spawn(world, 'desk-0'))).toBe('worker.exists')
})

test('who is live, and who holds a message, is asked of the world, whichever machine they are on', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  // A session of another machine, which these tables know nothing of.
  world.live.add('bob').add('s-on-laptop')
  expect(codeOf(world.register('bob', { strict: true }))).toBe('agent.name-taken')
  expect(codeOf(world.give('worker.spawn', 'ada', { ...input, name: 'bob', task: 'do' }))).toBe('agent.name-taken')
  const message = world.send('ada', 'bob')
  expect(world.take('bob', 's-on-laptop').messages).toEqual([message])
  expect(world.take('bob', 's-on-desk').messages).toEqual([])
  // The laptop is out of reach: what it holds is free again.
  world.live.delete('s-on-laptop')
  expect(world.take('bob', 's-on-desk').messages).toEqual([message])
})
