// A daemon is killed while workers of several parents run.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { killWithWorkers } from './scenarios/orphans.ts'

const each = sized(1, 4)
const parents = ['Ann', 'Bob', 'Cid', 'Dot', 'Eli']
const count = parents.length * each

test(`after a kill none of ${count} workers lives, and every parent was told`, async () => {
  const { orphans, left, statuses, told } = await killWithWorkers(parents, each)
  // Two of the three processes of each worker left their session: the end of the terminal does not reach them.
  expect(orphans).toBeGreaterThanOrEqual(2 * count)
  expect(left).toEqual([])
  expect(statuses).toEqual(Array(count).fill('exited'))
  for (const [parent, texts] of Object.entries(told)) {
    const expected = Array.from({ length: each }, (_, n) => `Worker "${parent}-${n}" exited: the daemon was restarted.`)
    expect([...texts].sort()).toEqual(expected)
  }
})
