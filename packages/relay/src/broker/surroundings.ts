// Where a call is answered: the workspace, its neighbours, and what the daemon tells of itself.

import type { Neighbours } from './addresses.ts'
import type { Workspace } from './workspace.ts'

/** What the daemon tells of itself. */
export interface DaemonInfo {
  version: string
  startedAt: number
  lag(): { p50: number; p99: number; max: number }
  socketPath(workspace: string): string
  /** Where HTTP is served; undefined where it is not. */
  url?(): string | undefined
  /** This daemon is a lift: whoever reaches it names one of these with each call. */
  roles?: readonly string[]
}

export interface Surroundings {
  workspace: Workspace
  neighbours: Neighbours
  daemon: DaemonInfo
}
