// The state outside the tables that rules may know, as of the moment when a command is decided: who is connected, on this machine or on another.

/** Stands for the machine of workers and runs that came with a restored backup. No real machine has this name, so no machine continues them. */
export const backupMachine = 'the machine of a backup'

export interface World {
  /** The machine of this daemon, on which a command's workers and runs are started. Unset in a workspace that lives on one machine alone. */
  readonly machine?: string
  /** The name of the person whose daemon this is. Unset in a daemon that belongs to no person, such as that of a lift. */
  readonly person?: string
  /** Whether somebody is connected as this agent, on any machine that can be reached. */
  isLive(agent: string): boolean
  /**
   * Returns the live session to which a hold on messages belongs, on any machine that can be reached. `hold` is a session's own id, or names a part of a
   * session such as a watch. With `agent`: only if that session acts as this agent.
   */
  liveSession(hold: string, agent?: string): string | undefined
  /** Whether this machine was removed from the cluster; any machine may act for a removed one. Unset in a workspace that lives on one machine alone. */
  isRemoved?(machine: string): boolean
}
