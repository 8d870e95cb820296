// Facts about claims on files. A file is named by its checkout (`root`) and its path from there (`file`); `path` identifies the file, and is the same however
// the file is spelled. `machine` is unset in a workspace of a single machine.

export interface ClaimMade {
  type: 'claim.made'
  path: string
  root: string
  file: string
  /** The identity of the git repository, which all checkouts of it share. */
  repository: string
  agent: string
  how: 'edit' | 'hand'
  until: number
  machine?: string
}
/** The claim's holder edited the file again, so the claim lasts longer. */
export interface ClaimRenewed {
  type: 'claim.renewed'
  path: string
  agent: string
  until: number
  machine?: string
}
/** A claim on a file ended before its time. A claim whose time has passed ends without a fact. */
export interface ClaimEnded {
  type: 'claim.ended'
  path: string
  root: string
  file: string
  agent: string
  why: 'released' | 'committed' | 'gone'
  machine?: string
}
/** Another agent's claim that was in the way of an edit or of a git command. */
export interface ClaimMet {
  file: string
  holder: string
  since: number
}
interface EditConflict {
  agent: string
  root: string
  /** The first of the other agents' claims that were in the way; `count` is the number of all of them. */
  claims: ClaimMet[]
  count: number
}
/** The agent was kept from an edit, or from a git command that touches files which others have claimed. */
export interface ClaimDenied extends EditConflict {
  type: 'claim.denied'
  what: 'edit' | 'git'
}
/**
 * The agent went ahead although others have claims. warned: the policy only warns, or the agent was warned before. late: the relay was asked too late.
 * worktree: the claim is in another checkout.
 */
export interface ClaimPassed extends EditConflict {
  type: 'claim.passed'
  what: 'edit' | 'git'
  why: 'warned' | 'late' | 'worktree'
}

export type ClaimFact = ClaimMade | ClaimRenewed | ClaimEnded | ClaimDenied | ClaimPassed
