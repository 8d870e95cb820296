// Contracts about claimed files: the git reader that the broker needs, and the checks of edits that a worker's control needs.

import type { ClaimRow } from '../../core/view.ts'

/** Finds claimed files that were committed. Implemented in work/commits.ts. */
export interface CommitReader {
  /** The claims whose files were committed after their holders' last edits, and not changed since. Files for which git takes too long are left out. */
  committed(claims: readonly ClaimRow[], limit: { at: number; ms: number }): Promise<ClaimRow[]>
}

/** The files that a tool call is about to write, as in the input of `claim.edit`. */
export interface AskedEdit {
  cwd: string
  files: string[]
  trees?: string[]
  git?: { command: string; directory: string }
}

/** Checks the edits of a worker that no hook reports, but the worker's protocol. Implemented in worker-edits.ts. */
export interface EditDesk {
  /** The files that a tool of this name would write; names as in the CLIs. */
  editsOf(tool: string, input: Readonly<Record<string, unknown>>, cwd: string): Omit<AskedEdit, 'cwd'>
  /** Claims the files for the agent. Returns why the edit is denied, which the agent is told as well; undefined: the edit may go ahead. */
  ask(agent: string, edit: AskedEdit): Promise<string | undefined>
  /** Notes an edit that has happened, whether or not anybody asked about it. */
  made(agent: string, edit: AskedEdit): Promise<void>
}
