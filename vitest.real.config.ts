// How `npm run test:real` runs: real agent CLIs from npm in real terminals, one after the other, against a scripted model on loopback.
import { defineConfig } from 'vitest/config'
import { guardMs } from './test/guard.ts'
import { alias } from './vitest.config.ts'

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/real/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    expect: { requireAssertions: true },
    maxWorkers: 1,
    fileParallelism: false,
    // The first run installs a gigabyte.
    testTimeout: 10 * guardMs,
    hookTimeout: 3 * guardMs,
  },
})
