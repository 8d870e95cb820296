// How `npm test` runs: every test against the sources, except the long crash tests, the packed packages, real CLIs, benchmarks and browsers.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

export const alias = [
  { find: /^@agent-relay\/sdk$/, replacement: source('sdk/src/index.ts') },
  { find: /^@agent-relay\/sdk\/discover$/, replacement: source('sdk/src/discover.ts') },
  { find: /^@agent-relay\/sdk\/injection$/, replacement: source('sdk/src/injection.ts') },
  { find: /^@agent-relay\/sdk\/refusals$/, replacement: source('sdk/src/protocol/refusals.ts') },
  { find: /^@agent-relay\/sdk\/protocol$/, replacement: source('sdk/src/protocol/index.ts') },
  { find: /^@agent-relay\/mcp$/, replacement: source('mcp/src/index.ts') },
  { find: /^@agent-relay\/mcp\/http$/, replacement: source('mcp/src/http.ts') },
  { find: /^@agent-relay\/mcp\/careful$/, replacement: source('mcp/src/careful/index.ts') },
  { find: /^@agent-relay\/mcp\/install$/, replacement: source('mcp/src/install/index.ts') },
  { find: /^@agent-relay\/mcp\/keeper$/, replacement: source('mcp/src/keeper.ts') },
]

const exclude = ['**/node_modules/**', '**/dist/**', 'test/{crash,packed,real,bench,browser}/**']
/** They replace a module for all that is loaded after them. */
const mocking = ['packages/mcp/tests/discover.test.ts', 'packages/sdk/tests/discover-order.test.ts']

export default defineConfig({
  resolve: { alias },
  test: {
    pool: 'forks',
    // Most of them wait for processes: more than there are cores use what the others leave.
    maxWorkers: 4,
    // Bounds against a hang, not measures: on a machine that others use too, everything may take many times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['packages/*/tests/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...exclude, ...mocking],
          // Loading the sources anew for each file would be a fifth of the whole time. No test leaves anything in a module.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'mocking', include: mocking, exclude } },
    ],
  },
})
