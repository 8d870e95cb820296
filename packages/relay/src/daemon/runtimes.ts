// Makes the parts that carry out a workspace's work: the supervisor of its workers, their worktrees, the reader of git commits, and the loop's settings. Each
// gets only the part of the broker that its contract names.

import { join } from 'node:path'
import { findEdits } from '@agent-relay/mcp/edits'
import { launcherCommand, launcherState } from '@agent-relay/mcp/launcher'
import { WorkerEdits } from '../broker/claims/worker-edits.ts'
import type { Runtimes } from '../broker/workspace.ts'
import { ProjectLoopSettings } from '../runs/loop-settings.ts'
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.ts'
import { GitCommitReader } from '../work/commits.ts'
import type { Worktrees } from '../work/worktrees.ts'

type BrokerPart = 'ledger' | 'approvals' | 'edits'

export interface RuntimeOptions extends Omit<SupervisorOptions, BrokerPart | 'directory' | 'launchHook'> {
  worktrees: Worktrees
  /** The folder of the workspace. */
  folder: string
}

export function makeRuntimes({ folder, ...options }: RuntimeOptions): Runtimes & { loop: ProjectLoopSettings } {
  const { dataDir, env, project, socketPath, worktrees } = options
  return {
    worktrees,
    workers: (broker) =>
      new Supervisor({
        ...options,
        ...broker,
        edits: new WorkerEdits(broker, socketPath, findEdits),
        directory: join(folder, 'workers'),
        launchHook: () => hookLauncher(dataDir),
      }),
    commits: new GitCommitReader(env),
    loop: new ProjectLoopSettings({ env, dataDir, directory: project }),
  }
}

/**
 * Returns the shell command with which hooks wait for messages, at a tenth of the memory that Node takes. Undefined if the launcher starts another
 * installation.
 */
function hookLauncher(dataDir: string) {
  const env = { RELAY_DATA_DIR: dataDir }
  return launcherState(env) === 'current' ? launcherCommand(['hook'], env) : undefined
}
