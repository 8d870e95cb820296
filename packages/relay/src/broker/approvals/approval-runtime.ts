// The interface between the queue of approvals and their sources: a hook of a CLI, a worker's own interface, a dialog on a screen. Implemented in approvals.ts.

import { createHash } from 'node:crypto'
import type { ApprovalChoice, ApprovalHow, Question } from '@agent-relay/sdk/protocol'

export interface ApprovalQueue {
  /**
   * Opens an approval, and resolves when it is over: somebody has answered, or it was closed. Never rejects; an approval that could not be opened, because
   * there are too many, is over at once as `cancelled`.
   */
  open(asked: NewApproval): Promise<ApprovalEnd>
  /** Closes an approval that its asker knows to be over. Does nothing if the approval is over already, or was never opened. `kind`: the choice, if known. */
  close(source: string, how: Exclude<ApprovalHow, 'answered' | 'restart'>, kind?: ApprovalChoice['kind']): void
  /**
   * Whether the agent waits for an answer to an approval; no message may be put before the agent meanwhile. `mark`: ignores the approval with this mark that an
   * earlier daemon left.
   */
  hasOpen(agent: string, mark?: string): boolean
  /** Whether an approval of the agent ended a moment ago, so that its screen may still show the question. */
  hasJustEnded(agent: string): boolean
}

/** Copies the beginning of a text: a slice would keep the whole text in memory. */
export function copyBeginning(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax), 'utf16le').toString('utf16le')
}

/** Makes a mark by which a hook that comes back after a restart is recognised. Others see the stored mark, so the hook's key itself is not stored. */
export function approvalMark(agent: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([agent, key]))
    .digest('hex')
    .slice(0, 32)
}

export interface NewApproval {
  /** Identifies the approval and its asker; unique within the workspace. */
  source: string
  agent: string
  vendor: string
  tool: string
  /** The raw input of the tool call to approve, not yet cleaned or cut. */
  input: string
  /** The length of the whole input; unset if the asker has not cut it. */
  inputChars?: number
  /** Whether the asker has cut the input by an unknown length. */
  isCut?: boolean
  directory?: string
  /** The choices of whoever answers; empty if the approval can only be answered at the agent's terminal. */
  choices: readonly ApprovalChoice[]
  /** The questions to answer, if the agent asks for a choice between options. */
  questions?: readonly Question[]
  /** Set if the asker outlives the daemon: it then asks the next daemon again with the same mark and gets the same approval. */
  mark?: string
  /** Called before an answer is accepted: closes the approval if its question is gone from the asker. */
  closeIfGone?(): Promise<void>
  /** Whether the asker passes the words of a denial on to the model. */
  passesWords?: boolean
  /** Whether the agent's hirer is told of the approval in another way than by a message. */
  isHirerTold?: boolean
}

export type ApprovalEnd =
  | { how: 'answered'; choice: string; kind: ApprovalChoice['kind']; words?: string; answers?: string[] }
  | { how: Exclude<ApprovalHow, 'answered'> }
