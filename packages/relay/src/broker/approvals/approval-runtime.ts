// The interface between the queue of approvals and their sources: a hook of a CLI, a worker's own interface, a dialog on a screen. Implemented in approvals.ts.

import { createHash } from 'node:crypto'
import type { ApprovalChoice, ApprovalHow, Question } from '@agent-relay/sdk/protocol'

export interface ApprovalQueue {
  /**
   * Opens an approval, and resolves when it is over: somebody has answered, or it was closed. Never rejects; an approval that could not be opened, because
   * there are too many, is over at once as `cancelled`.
   */
  open(asked: NewApproval): Promise<ApprovalEnd>
  /**
   * Closes an approval whose question is over for the program that asked. Does nothing if the approval is closed already, or was never opened. `kind`: the kind
   * of choice that was made, if known.
   */
  close(source: string, how: Exclude<ApprovalHow, 'answered' | 'restart'>, kind?: ApprovalChoice['kind']): void
  /**
   * Whether the agent waits for an answer to an approval; no message may be shown to the agent meanwhile. `mark`: does not count the approval with this mark
   * (the hash of a hook's key) if an earlier daemon left it.
   */
  hasOpen(agent: string, mark?: string): boolean
  /** Whether an approval of the agent ended in the last two seconds, so that the agent's screen may still show the question. */
  hasJustEnded(agent: string): boolean
}

/** Copies the beginning of a text. The result of `slice` alone would keep the whole text in memory. */
export function copyBeginning(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax), 'utf16le').toString('utf16le')
}

/**
 * Makes the mark by which a hook that reconnects after a restart of the daemon is recognised. It is a hash of the hook's key, since others can see the stored
 * mark.
 */
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
  /** The length of the whole input in characters; unset if the asker has not cut the input. */
  inputChars?: number
  /** Whether the asker has cut the input by an unknown length. */
  isCut?: boolean
  directory?: string
  /** The choices offered to whoever answers; empty if the approval can only be answered at the agent's terminal. */
  choices: readonly ApprovalChoice[]
  /** The questions to answer, if the agent asks for a choice between options. */
  questions?: readonly Question[]
  /** Set if the asker outlives the daemon, as a hook does: it asks the next daemon with the same mark, and gets the same approval. */
  mark?: string
  /** Called before an answer is accepted. Closes the approval if the agent's program no longer shows the question. */
  closeIfGone?(): Promise<void>
  /** Whether the asker tells the model the text that a person adds to a denial. */
  passesWords?: boolean
  /** Whether the agent's hirer learns of the approval in another way, so that no message is sent. */
  isHirerTold?: boolean
}

export type ApprovalEnd =
  | { how: 'answered'; choice: string; kind: ApprovalChoice['kind']; words?: string; answers?: string[] }
  | { how: Exclude<ApprovalHow, 'answered'> }
