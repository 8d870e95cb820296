import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeIds } from '../src/protocol/ids.ts'
import { limits } from '../src/protocol/limits.ts'

describe('makeIds', () => {
  it('makes ids that are unique and sort in the order they were made', () => {
    const ids = makeIds()
    const made = Array.from({ length: 20_000 }, () => ids('c'))
    expect(new Set(made).size).toBe(made.length)
    expect([...made].sort()).toEqual(made)
  })

  it('keeps the order whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 45 }), { minLength: 2, maxLength: 50 }), (times) => {
        let at = 0
        const ids = makeIds(() => times[Math.min(at++, times.length - 1)] as number)
        const made = times.map(() => ids('c'))
        expect(new Set(made).size).toBe(made.length)
        expect([...made].sort()).toEqual(made)
      }),
    )
  })

  it('sorts a later maker behind an earlier one', () => {
    const early = makeIds(() => 1_000)
    const late = makeIds(() => 1_001)
    expect([late('c'), early('c')].sort()[0]).toMatch(/^c_0+z8/)
  })

  it('starts from a random number in each millisecond', () => {
    let now = 1
    const ids = makeIds(() => now++)
    const tails = Array.from({ length: 100 }, () => ids('c').slice(-16))
    expect(new Set(tails).size).toBe(100)
  })

  it('gives no id of a run away by another one, also within a millisecond', () => {
    const ids = makeIds(() => 1)
    const tails = Array.from({ length: 100 }, (_, i) => ids(i % 2 === 0 ? 'run' : 'c').slice(-16))
    const runs = tails.filter((_, i) => i % 2 === 0)
    expect(new Set(tails.map((tail) => tail.slice(0, 12))).size).toBe(runs.length + 1)
  })

  it('fits the limit and carries its prefix', () => {
    const id = makeIds()('m')
    expect(id).toMatch(/^m_[0-9a-hjkmnp-tv-z]{26}$/)
    expect(id.length).toBeLessThan(limits.idCharsMax)
  })
})
