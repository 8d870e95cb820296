// How `npm test` runs: every test against the sources, the crash tests in their short size (see test/size.ts). The packed packages, real CLIs and
// browsers have suites of their own.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { guardMs } from './test/guard.ts'

/** The exports of our packages, each led to the source of what it names: `dist/discover.js` is made from `src/discover.ts`. */
export const alias = ['sdk', 'protocol', 'mcp', 'prove'].flatMap((folder) => {
  const here = new URL(`packages/${folder}/`, import.meta.url)
  const { name, exports } = JSON.parse(readFileSync(new URL('package.json', here), 'utf8'))
  return Object.entries<{ default: string }>(exports).flatMap(([path, { default: built }]) => {
    const [, source] = /^\.\/dist\/(.*)\.js$/.exec(built) ?? []
    if (source === undefined) return []
    const find = new RegExp(`^${(name + path.slice(1)).replace('*', '(.*)')}$`)
    return { find, replacement: fileURLToPath(new URL(`src/${source.replace('*', '$1')}.ts`, here)) }
  })
})

/** The longest, so that none of them is left to the end. vitest knows by itself only how long they took on this machine before. */
export const longest = [
  'test/docs/commands.test.ts',
  'packages/relay/tests/cluster/holding.test.ts',
  'packages/mcp/tests/pipe-restart.test.ts',
  'packages/relay/tests/claude/claude-sessions.test.ts',
  'packages/relay/tests/work/worktree-loss.test.ts',
  'packages/relay/tests/work/worktree-random.test.ts',
  'packages/relay/tests/cluster/outbox.test.ts',
  'packages/relay/tests/cli/doctor.test.ts',
  'packages/relay/tests/cli/lift-cli.test.ts',
  'packages/relay/tests/cluster/reconciling.test.ts',
  'packages/relay/tests/supervisor/worker-retry.test.ts',
  'packages/relay/tests/cli/daemon.test.ts',
  'packages/relay/tests/supervisor/codex-native.test.ts',
  'packages/mcp/tests/hook.test.ts',
  'packages/relay/tests/supervisor/acp.test.ts',
  'packages/relay/tests/work/worktree-spawn.test.ts',
  'packages/relay/tests/cli/demo.test.ts',
  'packages/relay/tests/wires/http-api.test.ts',
  'packages/relay/tests/work/hostile-repository.test.ts',
  'packages/relay/tests/cli/lift-tmux.test.ts',
  'packages/relay/tests/cluster/sharing.test.ts',
  'packages/relay/tests/runs/loop.test.ts',
  'packages/relay/tests/runs/worker.test.ts',
  'packages/relay/tests/supervisor/worker-spawn.test.ts',
  'test/crash/prove.test.ts',
  'test/crash/workspaces.test.ts',
  'packages/relay/tests/work/worktree-removal.test.ts',
  'packages/mcp/tests/waiter.test.ts',
  'packages/relay/tests/daemon/rest.test.ts',
  'packages/mcp/tests/install.test.ts',
  'test/crash/prunes.test.ts',
  'test/crash/stalls.test.ts',
  'test/sim/cluster/cluster.test.ts',
  'test/sim/cluster/planted.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = longest.findIndex((path) => moduleId.endsWith(`/${path}`))
      return found < 0 ? longest.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  resolve: { alias },
  test: {
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Commands that run inside a test print times, and tests read them.
    env: { TZ: 'UTC' },
    // Most tests wait for processes: with more workers than cores, one works while another waits.
    maxWorkers: 4,
    // Longer than one wait within a test, so that what is shown is what it waited for.
    testTimeout: 2 * guardMs,
    hookTimeout: 2 * guardMs,
    expect: { poll: { timeout: guardMs }, requireAssertions: true },
    include: ['packages/*/tests/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'test/{packed,real,bench,browser}/**'],
    // Loading the sources again for each file would be a fifth of the whole time. No test leaves anything in a module.
    isolate: false,
    // What was made of a source is kept in node_modules until the source changes: the workers wait for it at their first files.
    experimental: { fsModuleCache: true },
  },
})
