// Facts about claims on files. `root` is the root directory of the git checkout, and `file` the file's path from there. `path` identifies the file: it is the
// same however a caller spells the file's path. `machine` is the machine of that checkout; unset if the workspace is not shared by several machines.

export interface ClaimMade {
  type: 'claim.made'
  path: string
  root: string
  file: string
  /** Identifies the git repository; the same for all of its checkouts. */
  repository: string
  agent: string
  how: 'edit' | 'hand'
  until: number
  machine?: string
}
/** The claim's holder edited the file again, so the claim now ends later. */
export interface ClaimRenewed {
  type: 'claim.renewed'
  path: string
  agent: string
  until: number
  machine?: string
}
/** A claim on a file ended early. A claim that ends when its time has passed leaves no fact. */
export interface ClaimEnded {
  type: 'claim.ended'
  path: string
  root: string
  file: string
  agent: string
  why: 'released' | 'committed' | 'gone'
  machine?: string
}
/** Another agent's claim that stood in the way of an edit or of a git command. */
export interface ClaimMet {
  file: string
  holder: string
  since: number
}
interface EditConflict {
  agent: string
  root: string
  /** The first of the other agents' claims that stood in the way. `count` is the number of all of them. */
  claims: ClaimMet[]
  count: number
}
/** An agent was denied an edit, or a git command, because other agents have claimed the files. */
export interface ClaimDenied extends EditConflict {
  type: 'claim.denied'
  what: 'edit' | 'git'
}
/**
 * An agent went ahead with an edit or a git command although other agents have claimed the files. warned: the policy only warns, or the agent had been warned
 * before. late: the relay was told only after the edit. worktree: the claimed file is in another checkout.
 */
export interface ClaimPassed extends EditConflict {
  type: 'claim.passed'
  what: 'edit' | 'git'
  why: 'warned' | 'late' | 'worktree'
}

export type ClaimFact = ClaimMade | ClaimRenewed | ClaimEnded | ClaimDenied | ClaimPassed
