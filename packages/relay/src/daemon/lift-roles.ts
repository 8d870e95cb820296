// A lift's view of its roles: whether a role's session is there, and whether messages wait for the role. For all else a lift is a client.

import type { Daemon } from './daemon.ts'

export interface LiftRoles {
  /** Whether the role's MCP session has its tools. */
  isReady(role: string): boolean
  /** Number of the newest waiting message of the role that no session has been given; 0 if there is none. */
  newestWaitingMessage(role: string): number
}

export async function liftRolesOf(daemon: Daemon, name: string): Promise<LiftRoles> {
  const { sessions, store } = (await daemon.open(name)).workspace
  // A receipt without a time belongs to a session that has ended: nobody has the message now.
  const isFree = (receipt?: { until?: number }) => receipt?.until === undefined
  return {
    isReady: (role) => sessions.isInitialized(role),
    newestWaitingMessage: (role) => store.queries.newestWaiting(role, isFree),
  }
}
