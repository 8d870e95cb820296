// How `npm run test:browser` runs: the SDK's browser bundle in a page of a real browser.
import { defineConfig } from 'vitest/config'
import { guardMs } from './test/guard.ts'
import { alias } from './vitest.config.ts'

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['test/browser/setup.ts'],
    pool: 'forks',
    expect: { requireAssertions: true },
    maxWorkers: 1,
    testTimeout: 3 * guardMs,
    hookTimeout: 3 * guardMs,
  },
})
