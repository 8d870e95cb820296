// What can happen to runs.

import type { HarnessName } from '../runs.ts'

/** The contract is the entry's body: what an agent was asked is not for every watcher's eyes. */
export interface RunStarted {
  type: 'run.started'
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
  /** The machine it is carried out on; left out where the workspace lives on one machine alone. */
  machine?: string
  /** Its worker is to have a worktree of its own. */
  worktree?: boolean
  /** The run whose contract it was given again. */
  again?: string
}
/** The payload belongs to the entry, like a body. */
export interface RunCompleted {
  type: 'run.completed'
  id: string
  agent: string
  summary: string
  /** Uncompressed; unset where nothing was handed over. */
  payloadBytes?: number
}
export interface RunStopped {
  type: 'run.stopped'
  id: string
  agent: string
  /** Why it ended by itself, or what who stopped it said. */
  reason?: string
}

export type RunFact = RunStarted | RunCompleted | RunStopped
