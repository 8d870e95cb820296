// Facts about approvals: one is opened, and it is closed. `machine` is left out where the workspace lives on one machine alone.

import type { ApprovalChoice, ApprovalHow, Question } from '../approvals.ts'

/** An agent may not go on until somebody with authority says yes. */
export interface ApprovalOpened {
  type: 'approval.opened'
  id: string
  agent: string
  vendor: string
  tool: string
  /** The text of what the agent wants to do, cleaned, and cut where it is long. */
  input: string
  /** The input is all of what was asked, character by character. */
  isExact: boolean
  /** The number of characters that were cut off, of those that were asked. The entry's body has the whole, as far as it is kept. */
  hiddenChars?: number
  hiddenLines?: number
  /** The entry's body is all of what was asked, character by character. */
  isWhole?: boolean
  directory?: string
  choices: ApprovalChoice[]
  /** The questions, where the approval is a choice. */
  questions?: Question[]
  /** A mark by which the program that asked is known again, should the daemon be started again before the answer. */
  mark?: string
  /** The digest of all that was asked. An answer has to name it. */
  digest: string
  machine?: string
}
/** An approval was closed. The entry's `by` gave the answer; all other approvals are closed by the daemon. */
export interface ApprovalClosed {
  type: 'approval.closed'
  id: string
  agent: string
  how: ApprovalHow
  /** The kind of the answer, or of the choice at the terminal, as far as that is known. */
  kind?: ApprovalChoice['kind']
  /** The id of the choice that the answer takes. */
  choice?: string
  words?: string
  /** The answers to the questions of a choice, one for each. */
  answers?: string[]
  /** The place where the answer was given; `delegation`: by an agent, under a delegation of the policy. */
  surface?: 'page' | 'terminal' | 'delegation'
  /** The text of the delegation, as it is shown. */
  delegation?: string
  /** The name of whoever gave the answer, where another machine asked for it: `alice on laptop`. */
  asker?: string
}

export type ApprovalFact = ApprovalOpened | ApprovalClosed
