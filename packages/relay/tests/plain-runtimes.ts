// What carries out the work of a workspace in tests that start no daemon. No tests.

import { join } from 'node:path'
import { makeRuntimes } from '../src/daemon/runtimes.ts'
import { HarnessSetups } from '../src/supervisor/launching.ts'
import { Worktrees } from '../src/work/worktrees.ts'
import { loud } from './broker/loud.ts'

export function plainRuntimes(root: string, worktrees = new Worktrees({ env: {}, dataDir: root })) {
  return makeRuntimes({
    ...{ dataDir: root, folder: root, env: {}, worktrees, onTrouble: loud.onTrouble },
    project: () => undefined,
    socketPath: join(root, 'home.sock'),
    setups: new HarnessSetups(join(root, 'harnesses')),
  })
}
