// Facts about runs (contracts given to agents): started, completed, stopped.

import type { HarnessName } from '../runs.ts'

/** A run was started. The contract is stored as the entry's body, because not every watcher may see what an agent was asked to do. */
export interface RunStarted {
  type: 'run.started'
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
  /** The machine that carries the run out. Unset if the workspace is not shared by several machines. */
  machine?: string
  /** Whether the worker that carries the run out gets a git worktree of its own. */
  worktree?: boolean
  /** The id of the earlier run whose contract this run was given again. Unset: it has a contract of its own. */
  again?: string
}
/** A run was completed. Its payload (the result that it hands over) is stored with the entry, like a body. */
export interface RunCompleted {
  type: 'run.completed'
  id: string
  agent: string
  summary: string
  /** The size of the payload, uncompressed. Unset if the run handed over nothing. */
  payloadBytes?: number
}
export interface RunStopped {
  type: 'run.stopped'
  id: string
  agent: string
  /** Why the run ended by itself, or the reason that the agent or person gave who stopped it. */
  reason?: string
}

export type RunFact = RunStarted | RunCompleted | RunStopped
