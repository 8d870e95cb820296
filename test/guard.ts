// The thresholds at which a test calls something hung, or memory lost. No tests.
import { expect } from 'vitest'

/**
 * The one limit of all tests: it guards against a hang and measures nothing. A machine that others use too may need many times as long as a
 * quiet one, so a test says what happens and in which order; how fast it is stands in test/bench.
 */
export const guardMs = 90_000

/** Memory that grows with the work is lost. What is usual is what a quiet run shows; three times that is no longer chance. */
export function expectNoLeak(grown: number, usual: number): void {
  expect(grown).toBeLessThan(3 * usual)
}
