// How `npm test` runs: every test against the sources, except the long crash tests, real CLIs, benchmarks and browsers.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

export const alias = [
  { find: /^@agent-relay\/sdk$/, replacement: source('sdk/src/index.ts') },
  { find: /^@agent-relay\/sdk\/discover$/, replacement: source('sdk/src/discover.ts') },
  { find: /^@agent-relay\/sdk\/refusals$/, replacement: source('sdk/src/protocol/refusals.ts') },
  { find: /^@agent-relay\/sdk\/protocol$/, replacement: source('sdk/src/protocol/index.ts') },
  { find: /^@agent-relay\/mcp$/, replacement: source('mcp/src/index.ts') },
  { find: /^@agent-relay\/mcp\/http$/, replacement: source('mcp/src/http.ts') },
  { find: /^@agent-relay\/mcp\/keeper$/, replacement: source('mcp/src/keeper.ts') },
]

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['packages/*/tests/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'test/{crash,real,bench,browser}/**'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
