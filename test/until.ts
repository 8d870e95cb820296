// Waits in a test for something that happens on its own: looks again until it is so. No tests.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { guardMs } from './guard.ts'

const lookAgainMs = 10
const lookAgainMsMax = 100

/**
 * Whether a promise settles within so many milliseconds, counted in steps that each give everything else its turn: a process that was held up
 * for a second has not waited for a second.
 */
export async function isWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  work.then(settle, settle)
  for (let left = ms; left > 0 && !isSettled; left -= lookAgainMs) await sleep(lookAgainMs)
  return isSettled
}

/** Asserts that it becomes so. Resolves with the milliseconds it took. */
export async function until(isSo: () => unknown, limitMs = guardMs): Promise<number> {
  const start = performance.now()
  for (;;) {
    const from = performance.now()
    const answer = await isSo()
    const now = performance.now()
    if (answer || now - start > limitMs) {
      expect(answer, `not within ${limitMs} ms: ${isSo}`).toBeTruthy()
      return now - start
    }
    // Looking must not take the processor from what is waited for: a look that starts a program comes less often.
    await sleep(Math.min(lookAgainMsMax, Math.max(lookAgainMs, 4 * (now - from))))
  }
}

/**
 * Time for what must not happen. A slow machine makes such a test weaker and never fails it, so nothing that has to have happened may be
 * looked for afterwards: `until` waits for that. Better still is an event that comes for certain after the one that must not come.
 */
export async function aWhile(ms = 300): Promise<void> {
  await sleep(ms)
}
