// The contract between the queue of approvals and what they come from: a hook, a control of a worker, a dialog on a screen. Implemented in
// approvals.ts.

import { createHash } from 'node:crypto'
import type { ApprovalChoice, ApprovalHow, Question } from '@agent-relay/sdk/protocol'

export interface ApprovalQueue {
  /**
   * Opens an approval, and resolves when it is over: somebody has answered, or it was closed. It never rejects; an approval that could not be
   * opened, because there are too many, is over at once as `cancelled`.
   */
  open(asked: AskedApproval): Promise<ApprovalEnd>
  /** What asked knows that it is over. Does nothing where it is over already, or was never opened. `kind`: what was chosen, if that is known. */
  close(source: string, how: Exclude<ApprovalHow, 'answered' | 'restart'>, kind?: ApprovalChoice['kind']): void
  /** Does the agent wait for an answer? Nothing may be put before it meanwhile. `mark`: apart from this one, which an earlier daemon has left. */
  isOpen(agent: string, mark?: string): boolean
  /** It waited for one a moment ago: the screen of its program may still show the question. */
  isJustOver(agent: string): boolean
}

/** The beginning of a text, as a text of its own: a slice keeps in memory all that it was cut from. */
export function beginningOf(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax), 'utf16le').toString('utf16le')
}

/** Only what asks has its key, so nobody else comes back as it; what is stored is not the key itself, since others see it. */
export function markOf(agent: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([agent, key]))
    .digest('hex')
    .slice(0, 32)
}

export interface AskedApproval {
  /** How what asks calls it; nothing else in the workspace may be called so. */
  source: string
  agent: string
  vendor: string
  tool: string
  /** As it came: cleaned and cut here. */
  input: string
  /** How long the input is as a whole, where what asks has cut it. */
  inputChars?: number
  /** The input is not all of it, and nobody knows how much is missing. */
  isCut?: boolean
  directory?: string
  /** Empty, if it can only be answered at the terminal. */
  choices: readonly ApprovalChoice[]
  /** Of a choice. */
  questions?: readonly Question[]
  /** What asks lives on when the daemon ends, and asks again: then it is the same one. */
  mark?: string
  /** Looks whether it is still asked, before an answer is taken, and closes it if not. */
  check?(): Promise<void>
  /** The words of who denies it reach the model. */
  passesWords?: boolean
  /** Its parent hears of it in another way. */
  isTold?: boolean
}

export type ApprovalEnd =
  | { how: 'answered'; choice: string; kind: ApprovalChoice['kind']; words?: string; answers?: string[] }
  | { how: Exclude<ApprovalHow, 'answered'> }

/** What most CLIs offer. */
export const plainChoices: readonly ApprovalChoice[] = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]
