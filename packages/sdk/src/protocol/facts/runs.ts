// Facts about runs: one is started, completed or stopped.

import type { HarnessName } from '../runs.ts'

/** A run was started. The contract is the entry's body: not every watcher may see what an agent was asked. */
export interface RunStarted {
  type: 'run.started'
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
  /** The machine that carries the run out; left out where the workspace lives on one machine alone. */
  machine?: string
  /** The run's worker is to have a worktree of its own. */
  worktree?: boolean
  /** The earlier run whose contract this one was given again. */
  again?: string
}
/** A run is done. Its payload belongs to the entry, like a body. */
export interface RunCompleted {
  type: 'run.completed'
  id: string
  agent: string
  summary: string
  /** The size of the payload, uncompressed; unset where nothing was handed over. */
  payloadBytes?: number
}
export interface RunStopped {
  type: 'run.stopped'
  id: string
  agent: string
  /** Why the run ended by itself, or the words of whoever stopped it. */
  reason?: string
}

export type RunFact = RunStarted | RunCompleted | RunStopped
