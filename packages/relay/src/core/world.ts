// What a rule may know outside the tables, as it stood when its command was decided: who is connected, here or on another machine.

/** Where the workers and runs of a backup ran that was restored. No machine has this name: nothing of them is done on any. */
export const backupMachine = 'the machine of a backup'

export interface World {
  /** The machine of this daemon: what a command starts, it starts there. Unset where the workspace lives on one machine alone. */
  readonly machine?: string
  /** Is somebody connected as this agent, on any machine that can be reached? */
  isLive(agent: string): boolean
  /**
   * The live session that a hold belongs to, on any machine that can be reached. The hold is a session's own id, or names a part of a session
   * such as a watch. With `agent`: only where that session acts as this agent.
   */
  holder(hold: string, agent?: string): string | undefined
  /** Was this machine removed from the cluster? What it had is anybody's. Unset where the workspace lives on one machine alone. */
  isRemoved?(machine: string): boolean
}
