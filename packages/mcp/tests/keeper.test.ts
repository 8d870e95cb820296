// The keeper of things in use: idle things end, the longest unused one makes room, and nothing in use is touched.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Keeper } from '../src/http/keeper.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

function keeper(idleMs: number, countMax = 10) {
  const ended: string[] = []
  return { kept: new Keeper<string>({ idleMs, countMax, end: (thing) => void ended.push(thing) }), ended }
}

test('a thing that is unused for a while is ended, one in use is kept however long', () => {
  const { kept, ended } = keeper(30)
  kept.put('a', 'A')
  kept.put('b', 'B')
  const release = kept.markInUse('b')
  const other = kept.markInUse('b')
  vi.advanceTimersByTime(29)
  expect(ended).toEqual([])
  vi.advanceTimersByTime(1)
  expect([ended, kept.get('a'), kept.get('b')]).toEqual([['A'], undefined, 'B'])
  release()
  release()
  vi.advanceTimersByTime(1_000)
  expect(kept.get('b')).toBe('B')
  other()
  vi.advanceTimersByTime(30)
  expect(ended).toEqual(['A', 'B'])
})

test('beyond the limit the longest unused one goes; if all are in use, no new one is taken', () => {
  const { kept, ended } = keeper(60_000, 2)
  kept.put('a', 'A')
  kept.put('b', 'B')
  kept.markInUse('a')()
  expect(kept.put('c', 'C')).toBe(true)
  expect(ended).toEqual(['B'])
  kept.markInUse('a')
  kept.markInUse('c')
  expect(kept.put('d', 'D')).toBe(false)
  expect(kept.size).toBe(2)
  kept.clear()
  expect([ended, kept.size]).toEqual([['B', 'A', 'C'], 0])
})

test('dropping an old thing does not drop the new one under the same key', () => {
  const { kept, ended } = keeper(60_000)
  kept.put('a', 'old')
  const release = kept.markInUse('a')
  kept.endNow('a')
  kept.put('a', 'new')
  kept.endNow('a', 'old')
  release()
  expect([ended, kept.get('a')]).toEqual([['old'], 'new'])
  expect(kept.markInUse('nothing')).toBeTypeOf('function')
  kept.clear()
})
