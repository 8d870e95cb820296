// The names nearest to a mistyped one: the same as a plain comparison with each would find.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance, nearestNames } from '../../src/core/nearest.ts'

/** The whole table, without any shortcut. */
function plainDistance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (_, j) => i || j))
  const at = (i: number, j: number) => table[i]?.[j] as number
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(i - 2, j - 2) + 1)
      ;(table[i] as number[])[j] = best
    }
  }
  return at(a.length, b.length)
}

function plainNearest(wanted: string, names: string[]): string[] {
  const limit = Math.min(4, Math.max(1, Math.floor(wanted.length / 3)))
  return names
    .map((name) => ({ name, distance: plainDistance(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name)
}

/** Letters of one kind among them: `1` and `Q` have the same last bits, and `é` lies outside of ASCII. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '1', 'q', 'é'), minLength: 1, maxLength: 14 })

test('the fast distance equals the plain one up to the limit', () => {
  fc.assert(
    fc.property(word, word, fc.integer({ min: 1, max: 6 }), (a, b, limit) => {
      expect(editDistance(a, b, limit)).toBe(Math.min(limit + 1, plainDistance(a, b)))
    }),
    { numRuns: 3_000 },
  )
})

test('the fast search finds the same names as the plain one', () => {
  fc.assert(
    fc.property(word, fc.uniqueArray(word, { maxLength: 40 }), (wanted, names) => {
      expect(nearestNames(wanted, names)).toEqual(plainNearest(wanted, names))
      // What was prepared for a list that never changes is used again.
      Object.freeze(names)
      for (const each of [wanted, `${wanted}c`, wanted])
        expect(nearestNames(each, names)).toEqual(plainNearest(each, names))
    }),
    { numRuns: 1_000 },
  )
})

test('a name of any length may be asked for', () => {
  expect(nearestNames('x'.repeat(5_000), ['a', 'x'.repeat(4_999)])).toEqual(['x'.repeat(4_999)])
  expect(nearestNames('', ['a'])).toEqual(['a'])
  expect(nearestNames('revewier', ['reviewer', 'Reviewer2', 'builder'])).toEqual(['reviewer'])
})
