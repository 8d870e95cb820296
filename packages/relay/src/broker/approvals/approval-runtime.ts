// The contract between the queue of approvals and its sources: a hook, a control of a worker, a dialog on a screen. Implemented in
// approvals.ts.

import { createHash } from 'node:crypto'
import type { ApprovalChoice, ApprovalHow, Question } from '@agent-relay/sdk/protocol'

export interface ApprovalQueue {
  /**
   * Opens an approval, and resolves when it is over: somebody has answered, or it was closed. It never rejects; an approval that could not be
   * opened, because there are too many, is over at once as `cancelled`.
   */
  open(asked: AskedApproval): Promise<ApprovalEnd>
  /** Closes an approval that the asker knows to be over. Does nothing if it is over already, or was never opened. `kind`: the choice, if known. */
  close(source: string, how: Exclude<ApprovalHow, 'answered' | 'restart'>, kind?: ApprovalChoice['kind']): void
  /** Whether the agent waits for an answer; nothing may be put before it meanwhile. `mark`: ignores this approval from an earlier daemon. */
  isOpen(agent: string, mark?: string): boolean
  /** Whether the agent waited a moment ago: its screen may still show the question. */
  isJustOver(agent: string): boolean
}

/** The beginning of a text as a copy: a slice would keep the whole text in memory. */
export function beginningOf(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax), 'utf16le').toString('utf16le')
}

/** A mark that proves that a returning hook is the same. Others see the stored mark, so the key itself is not stored. */
export function markOf(agent: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([agent, key]))
    .digest('hex')
    .slice(0, 32)
}

export interface AskedApproval {
  /** The asker's own key for the approval; unique within the workspace. */
  source: string
  agent: string
  vendor: string
  tool: string
  /** The raw input, not yet cleaned or cut. */
  input: string
  /** The length of the whole input, if the asker has cut it. */
  inputChars?: number
  /** The input is cut, and the missing length is unknown. */
  isCut?: boolean
  directory?: string
  /** The choices; empty if the approval can only be answered at the terminal. */
  choices: readonly ApprovalChoice[]
  /** The questions of a choice. */
  questions?: readonly Question[]
  /** Set if the asker outlives the daemon: it asks again with the same mark and gets the same approval. */
  mark?: string
  /** Called before an answer is taken: closes the approval if its question is gone. */
  check?(): Promise<void>
  /** The words of a denial reach the model. */
  passesWords?: boolean
  /** The agent's hirer is told in another way. */
  isTold?: boolean
}

export type ApprovalEnd =
  | { how: 'answered'; choice: string; kind: ApprovalChoice['kind']; words?: string; answers?: string[] }
  | { how: Exclude<ApprovalHow, 'answered'> }

/** The choices that most CLIs offer. */
export const plainChoices: readonly ApprovalChoice[] = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]
