// Timers with their limit: in Node and in browsers, a timer that is set for longer than 24 days fires at once.

import { timerMsMax } from './protocol/limits.ts'

/** The time for a timer, at most 24 days: a limit that its user set to "forever" is cut to that. */
export function timerMs(ms: number): number {
  return Math.min(ms, timerMsMax)
}

/** Waits for a promise, but not longer than `ms`. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timerMs(ms))
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
