// The longest time that a question waits for its answer while the daemon does something else. No tests.

import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again, with a rest between, until the work is done. */
export async function longestWait<T>(
  ask: () => Promise<unknown>,
  restMs: number,
  work: Promise<T>,
): Promise<{ done: T; waitedMs: number; answers: number }> {
  let [waitedMs, answers, isOver] = [0, 0, false]
  const asking = (async () => {
    while (!isOver) {
      const start = performance.now()
      await ask()
      waitedMs = Math.max(waitedMs, performance.now() - start)
      if (!isOver) answers++
      await sleep(restMs)
    }
  })()
  const done = await work.finally(() => {
    isOver = true
  })
  await asking
  return { done, answers, waitedMs: Math.round(waitedMs * 10) / 10 }
}
