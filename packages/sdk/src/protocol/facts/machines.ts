// Facts about the machines that share a workspace.

/**
 * The format of the workspace's later entries was raised. From format 2 on, an entry counts only if it is well formed and its machine has the right to write
 * all of it; every machine ignores other entries. A daemon that does not know the format stops reading here.
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
/** The machine was removed from the cluster: entries that it writes are ignored, and other machines may take over its agents. */
export interface MachineRevoked {
  type: 'machine.revoked'
  machine: string
}
/** A machine that had been removed from the cluster was invited again. */
export interface MachineAdmitted {
  type: 'machine.admitted'
  machine: string
}

export type MachineFact = WorkspaceRaised | WorkspaceOwned | MachineRevoked | MachineAdmitted
