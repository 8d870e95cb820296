// The list of agents' names that is kept in memory: the same as the agents', whatever happens to them.

import { expect, test } from 'vitest'
import { CoreWorld } from '../core/core-world.ts'

test('the names are those of all agents, in their order, also after one has left and after a rollback', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  const { view } = world.store
  const names = () => {
    const found = [...view.agentNames()]
    expect(found).toEqual([...view.agents()].map(({ name }) => name))
    return found
  }
  const before = names()
  world.register('cy')
  expect(names()).toEqual([...before, 'cy'])
  const tried = () =>
    world.together(() => {
      world.register('dan')
      world.give('agent.retire', 'owner', { name: 'ada' })
      expect(names()).toEqual([...before.filter((name) => name !== 'ada'), 'cy', 'dan'])
      throw new Error('undone')
    })
  expect(tried).toThrow('undone')
  expect(names()).toEqual([...before, 'cy'])
  world.give('agent.retire', 'owner', { name: 'bob' })
  expect(names()).not.toContain('bob')
  world.register('bob')
  expect(names().at(-1)).toBe('bob')
  world.store.rebuild()
  expect(names()).toContain('bob')
})
