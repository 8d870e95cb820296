// Interfaces about claims (files that an agent is editing): finding claimed files that were committed with git, and checking edits that a worker's protocol
// reports.

import type { ParsedInputOf } from '@agent-relay/sdk/protocol'
import type { ClaimRow } from '../../core/view.ts'

/** Finds claimed files that were committed. Implemented in work/commits.ts. */
export interface CommitReader {
  /** Returns the claims whose files were committed after their holders' last edits, and not changed since. Files for which git takes too long are left out. */
  findCommitted(claims: readonly ClaimRow[], limit: { at: number; ms: number }): Promise<ClaimRow[]>
}

/** The files that an agent's tool call is about to write. */
export type EditedFiles = ParsedInputOf<'claim.edit'>

/** Checks the edits of a worker that are reported by the worker's protocol and not by a hook. Implemented in worker-edits.ts. */
export interface EditChecker {
  /** Returns the files that a call of this tool would write. `tool`: its name in the agent's CLI. */
  editsOf(tool: string, input: Readonly<Record<string, unknown>>, cwd: string): Omit<EditedFiles, 'cwd'>
  /** Claims the files for the agent. Returns why the edit is denied, which the agent is told as well; undefined if the edit may go ahead. */
  check(agent: string, edit: EditedFiles): Promise<string | undefined>
  /** Records an edit that has happened, whether or not it was checked before. */
  recordEdit(agent: string, edit: EditedFiles): Promise<void>
}
