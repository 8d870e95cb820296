// The time limits on a slow machine: none is near the usual duration, and one setting makes all of them longer.
import { afterEach, expect, test, vi } from 'vitest'
import { type WaitName, waitLimitMs, waitLimits } from '../src/internal/waits.ts'

const names = Object.keys(waitLimits) as WaitName[]

afterEach(() => vi.unstubAllEnvs())

test.each(names)('%s is at least five times what is usual', (name) => {
  expect(waitLimits[name].limitMs).toBeGreaterThanOrEqual(5 * waitLimits[name].usualMs)
})

test('no hook stays as long as its CLI allows, five seconds', () => {
  vi.stubEnv('RELAY_PATIENCE', '100')
  expect(5_000).toBeGreaterThan(waitLimitMs('hook'))
  expect(5_000).toBeGreaterThan(waitLimitMs('hookInput') + waitLimitMs('edit'))
})

test('RELAY_PATIENCE makes every one longer, and none shorter', () => {
  for (const name of names) expect(waitLimitMs(name)).toBe(waitLimits[name].limitMs)
  vi.stubEnv('RELAY_PATIENCE', '2.5')
  for (const name of names)
    expect(waitLimitMs(name)).toBe(
      Math.min(2.5 * waitLimits[name].limitMs, waitLimits[name].raisedLimitMsMax ?? Number.POSITIVE_INFINITY),
    )
  for (const odd of ['0.1', '-3', 'much', '', '1e9']) {
    vi.stubEnv('RELAY_PATIENCE', odd)
    expect(waitLimitMs('hook')).toBe(waitLimits.hook.limitMs)
  }
})
