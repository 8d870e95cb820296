// The contracts about claimed files: what the broker asks of what knows git, and what the controls of workers ask of the broker.

import type { ClaimRow } from '../../core/view.ts'

/** Implemented in work/commits.ts. */
export interface CommitReader {
  /** Of these claims those whose files were committed, and not changed since, after their holders last edited them. What git does not say in time is left out. */
  committed(claims: readonly ClaimRow[], limit: { at: number; ms: number }): Promise<ClaimRow[]>
}

/** What a tool call is about to write, as the input of `claim.edit` names it. */
export interface AskedEdit {
  cwd: string
  files: string[]
  trees?: string[]
  git?: { command: string; directory: string }
}

/** For edits of which no hook tells, but the protocol that a worker is spoken to by. Implemented in worker-edits.ts. */
export interface EditDesk {
  /** What a tool with this name, as the CLIs have it, would write. */
  editsOf(tool: string, input: Readonly<Record<string, unknown>>, cwd: string): Omit<AskedEdit, 'cwd'>
  /** Claims the files for the agent. Answers why the edit is denied, in words that are on their way to the agent too; undefined: it may go ahead. */
  ask(agent: string, edit: AskedEdit): Promise<string | undefined>
  /** The edit has happened, whether or not it was asked about. */
  made(agent: string, edit: AskedEdit): Promise<void>
}
