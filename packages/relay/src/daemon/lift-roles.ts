// What a lift asks its daemon about its roles: whether a role's session is ready, and whether messages wait for the role. For all else a lift uses the daemon
// as any client does.

import type { Daemon } from './daemon.ts'

export interface LiftRoles {
  /** Whether the role's MCP session has finished its handshake, so that the model has its tools. */
  isReady(role: string): boolean
  /** Number of the newest unread message of the role that no session has been given; 0 if there is none. */
  newestWaitingMessage(role: string): number
}

export async function liftRolesOf(daemon: Daemon, name: string): Promise<LiftRoles> {
  const { sessions, store } = (await daemon.open(name)).workspace
  // An offer to a session that has ended has no end time (`until`) any more: the message can be handed out again.
  const isFree = (receipt?: { until?: number }) => receipt?.until === undefined
  return {
    isReady: (role) => sessions.isInitialized(role),
    newestWaitingMessage: (role) => store.queries.newestWaiting(role, isFree),
  }
}
