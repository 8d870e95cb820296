// The size of a test that has two: `npm test` runs the short size, `npm run test:crash` the full one. No tests.

/** Set by vitest.crash.config.ts. */
export const isFull = process.env.TEST_SIZE === 'full'

export function sized<T>(short: T, full: T): T {
  return isFull ? full : short
}
