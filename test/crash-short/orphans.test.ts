// A daemon killed with five workers of two parents.

import { expect, test } from 'vitest'
import { killWithWorkers } from '../crash/scenarios/orphans.ts'

test('after a kill no orphan lives and every parent was told', async () => {
  const { orphans, left, statuses, told } = await killWithWorkers(['Ann', 'Bob', 'Cid', 'Dot', 'Eli'], 1)
  // Ten of fifteen left their session: the end of the terminal does not reach them.
  expect(orphans).toBeGreaterThanOrEqual(10)
  expect(left).toEqual([])
  expect(statuses).toEqual(Array(5).fill('exited'))
  for (const [parent, texts] of Object.entries(told))
    expect(texts).toEqual([`Worker "${parent}-0" exited: the daemon was restarted.`])
}, 60_000)
