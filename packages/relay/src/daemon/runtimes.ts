// Makes what carries out the work of a workspace: the supervisor of its workers, their worktrees, the reader of commits, and the loop's settings. Each gets
// the broker's contract that was made for it, and no more.

import { join } from 'node:path'
import { editsOf } from '@agent-relay/mcp/edits'
import { launched, launcherState } from '@agent-relay/mcp/launcher'
import { WorkerEdits } from '../broker/claims/worker-edits.ts'
import type { Runtimes } from '../broker/workspace.ts'
import { ProjectLoopSettings } from '../runs/loop-settings.ts'
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.ts'
import { Commits } from '../work/commits.ts'
import type { Worktrees } from '../work/worktrees.ts'

type FromBroker = 'ledger' | 'approvals' | 'edits'

export interface RuntimeOptions extends Omit<SupervisorOptions, FromBroker | 'directory' | 'launchHook'> {
  worktrees: Worktrees
  /** The folder of the workspace. */
  folder: string
}

export function runtimesOf({ folder, ...options }: RuntimeOptions): Runtimes & { loop: ProjectLoopSettings } {
  const { dataDir, env, project, socketPath, worktrees } = options
  return {
    worktrees,
    workers: (broker) =>
      new Supervisor({
        ...options,
        ...broker,
        edits: new WorkerEdits(broker, socketPath, editsOf),
        directory: join(folder, 'workers'),
        launchHook: () => launcherOfHooks(dataDir),
      }),
    commits: new Commits(env),
    loop: new ProjectLoopSettings({ env, dataDir, directory: project }),
  }
}

/** The shell script by which hooks wait for messages in a tenth of Node's memory; undefined if it starts another installation of Agent Relay. */
function launcherOfHooks(dataDir: string) {
  const env = { RELAY_DATA_DIR: dataDir }
  return launcherState(env) === 'current' ? launched(['hook'], env) : undefined
}
