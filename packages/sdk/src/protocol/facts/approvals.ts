// What can happen to approvals: somebody is needed, and it is over. `machine` is left out where the workspace lives on one machine alone.

import type { ApprovalChoice, ApprovalHow, Question } from '../approvals.ts'

/** An agent may not go on with this until somebody says so. */
export interface ApprovalOpened {
  type: 'approval.opened'
  id: string
  agent: string
  vendor: string
  tool: string
  /** Cleaned, and cut where it is long. */
  input: string
  /** The input is all of what was asked, character by character. */
  isExact: boolean
  /** Of the characters and lines that were asked, how many were cut off. The entry's body has the whole, as far as it is kept. */
  hiddenChars?: number
  hiddenLines?: number
  /** The body is all of it, character by character. */
  isWhole?: boolean
  directory?: string
  choices: ApprovalChoice[]
  /** Of a choice. */
  questions?: Question[]
  /** By which what asked is known again, should the daemon be started again before it is answered. */
  mark?: string
  /** Of all that was asked. An answer has to name it. */
  digest: string
  machine?: string
}
/** An answer is the entry's own `by`; everything else is closed by the daemon. */
export interface ApprovalClosed {
  type: 'approval.closed'
  id: string
  agent: string
  how: ApprovalHow
  /** Of an answer, or of what was chosen at the terminal, as far as that is known. */
  kind?: ApprovalChoice['kind']
  /** Of an answer. */
  choice?: string
  words?: string
  /** To the questions of a choice, one for each. */
  answers?: string[]
  /** Where the answer was given; `delegation`: by an agent, under one of the policy. */
  surface?: 'page' | 'terminal' | 'delegation'
  /** The delegation, as it is shown. */
  delegation?: string
  /** Of an answer that another machine asked for, who gave it there: `alice on laptop`. */
  asker?: string
}

export type ApprovalFact = ApprovalOpened | ApprovalClosed
