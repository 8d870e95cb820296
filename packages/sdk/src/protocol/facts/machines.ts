// Facts about the machines that share a workspace.

/**
 * The format of the entries that follow. From format 2 on, an entry counts only where it is well formed and its machine may say all of it; other entries count
 * for nothing. A daemon that does not know the format stops here.
 */
export interface WorkspaceRaised {
  type: 'workspace.raised'
  format: number
}
/** The workspace has a new owner: the machine that decides about its key, its policy and its sharing. */
export interface WorkspaceOwned {
  type: 'workspace.owned'
  machine: string
}
/** The machine was removed from the cluster: what it writes counts for nothing, and what it had is anybody's. */
export interface MachineRevoked {
  type: 'machine.revoked'
  machine: string
}
/** A machine that was removed was invited again. */
export interface MachineAdmitted {
  type: 'machine.admitted'
  machine: string
}

export type MachineFact = WorkspaceRaised | WorkspaceOwned | MachineRevoked | MachineAdmitted
