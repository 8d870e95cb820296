// Timers with a limit: in Node and in browsers, a timer that is set for longer than about 24 days fires at once.

import { timerMsMax } from './protocol/limits.ts'

/** Cuts a waiting time to about 24 days, so that a timeout that a user has set to "forever" works. */
export function timerMs(ms: number): number {
  return Math.min(ms, timerMsMax)
}

/** Waits until the promise settles, but not longer than `ms`. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timerMs(ms))
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
