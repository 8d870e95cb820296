// The system's clock: alarms that a timer of Node cannot hold, and deadlines that were set while the clock ran ahead.

import { afterEach, expect, test, vi } from 'vitest'
import { isDeadlineAhead, systemClock } from '../../src/machine/clock.ts'

afterEach(() => vi.useRealTimers())

const yearMs = 365 * 24 * 3_600_000

test('an alarm in ten years rings then, not now', () => {
  vi.useFakeTimers()
  let rings = 0
  systemClock.after(10 * yearMs, () => rings++)
  vi.advanceTimersByTime(10 * yearMs - 1)
  expect(rings).toBe(0)
  vi.advanceTimersByTime(1)
  expect(rings).toBe(1)
})

test('a long alarm can be cancelled after its first timer', () => {
  vi.useFakeTimers()
  let rings = 0
  const alarm = systemClock.after(yearMs, () => rings++)
  vi.advanceTimersByTime(yearMs / 2)
  alarm.cancel()
  vi.advanceTimersByTime(yearMs)
  expect(rings).toBe(0)
})

test('a deadline is ahead until its time, and over if it lies further ahead than any can be set', () => {
  const [now, dayMs] = [1_000_000_000_000, 24 * 3_600_000]
  expect(isDeadlineAhead(now + 1, now, dayMs)).toBe(true)
  expect(isDeadlineAhead(now, now, dayMs)).toBe(false)
  // The clock was set back by half an hour since.
  expect(isDeadlineAhead(now + dayMs + 1_800_000, now, dayMs)).toBe(true)
  expect(isDeadlineAhead(now + yearMs, now, dayMs)).toBe(false)
})
