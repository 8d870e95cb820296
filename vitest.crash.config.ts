// How `npm run test:crash` runs: every test that has two sizes in its full one (see test/size.ts), and the packed packages. One file after the
// other, since each fills the machine by itself; those that keep only one core busy run apart from them, two at once.
import { defineConfig } from 'vitest/config'
import { guardMs } from './test/guard.ts'
import { alias } from './vitest.config.ts'

/** Tests with two sizes outside test/crash. */
export const sizedElsewhere = [
  'test/sim/sim.test.ts',
  'test/sim/cluster/cluster.test.ts',
  'packages/relay/tests/cluster/postgres.test.ts',
  'packages/relay/tests/cluster/holding.test.ts',
  'packages/relay/tests/cluster/joining.test.ts',
  'packages/relay/tests/cluster/migrating.test.ts',
  'packages/relay/tests/cluster/reconciling.test.ts',
  'packages/relay/tests/cli/lift-tmux.test.ts',
  'packages/mcp/tests/install-odd.test.ts',
  'packages/mcp/tests/pipe-restart.test.ts',
  'packages/sdk/tests/relay-cuts.test.ts',
  'packages/relay/tests/work/worktree-random.test.ts',
  'packages/relay/tests/work/worktree-removal.test.ts',
  'packages/relay/tests/supervisor/worker-hostile.test.ts',
  'packages/relay/tests/daemon/rest.test.ts',
  'packages/relay/tests/broker/sight.test.ts',
  'packages/relay/tests/store/released-ages.test.ts',
]

/** Each keeps one core busy: two run at once, apart from all others. */
const single = [
  'test/sim/sim.test.ts',
  'test/sim/cluster/cluster.test.ts',
  'packages/relay/tests/work/worktree-random.test.ts',
  'test/crash/mail.test.ts',
  'test/crash/releases.test.ts',
]

export default defineConfig({
  resolve: { alias },
  test: {
    env: { TEST_SIZE: 'full' },
    pool: 'forks',
    expect: { requireAssertions: true },
    // A million messages are made first.
    testTimeout: 40 * guardMs,
    hookTimeout: 4 * guardMs,
    projects: [
      {
        extends: true,
        test: {
          name: 'one by one',
          // The plays take place on a shared workspace there: see test/plays/houses.ts.
          include: ['test/{crash,packed}/**/*.test.ts', 'test/plays/*.test.ts', ...sizedElsewhere],
          exclude: single,
          fileParallelism: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'two at once', include: single, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
