// How `npm run test:crash` runs: the long tests that kill daemons, fill disks and install what is packed, one file after the other.
import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { alias } from './vitest.config.ts'

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/{crash,packed}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // Only while there is no such folder: an empty one is a mistake.
    passWithNoTests: !existsSync(new URL('test/crash', import.meta.url)),
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 30 * 60_000,
    hookTimeout: 5 * 60_000,
  },
})
