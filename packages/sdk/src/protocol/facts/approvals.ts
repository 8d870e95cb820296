// Facts about approvals: opened, closed. `machine` is unset in a workspace of a single machine.

import type { ApprovalChoice, ApprovalHow, Question } from '../approvals.ts'

/** An approval was opened: an agent may not go on until a person, or an agent with a delegation, says yes. */
export interface ApprovalOpened {
  type: 'approval.opened'
  id: string
  agent: string
  vendor: string
  tool: string
  /** What the agent wants to do, as cleaned text; a long text is cut. */
  input: string
  /** Whether `input` is the whole request, character by character. */
  isExact: boolean
  /** The number of the request's characters that were cut off. The entry's body has the whole request, as far as it is kept. */
  hiddenChars?: number
  hiddenLines?: number
  /** Whether the entry's body is the whole request, character by character. */
  isWhole?: boolean
  directory?: string
  choices: ApprovalChoice[]
  /** The questions, if the agent asks for answers and not for a yes. */
  questions?: Question[]
  /** A mark by which the daemon recognises the asking program if the daemon is restarted before the answer. */
  mark?: string
  /** The digest of the whole request. An answer has to repeat it. */
  digest: string
  machine?: string
}
/** An approval was closed. If it was answered, the entry's `by` is who answered; otherwise the daemon closed it. */
export interface ApprovalClosed {
  type: 'approval.closed'
  id: string
  agent: string
  how: ApprovalHow
  /** The kind of the choice that was taken, also at the agent's terminal, as far as it is known. */
  kind?: ApprovalChoice['kind']
  /** The id of the choice that was taken. */
  choice?: string
  words?: string
  /** The answers to the approval's questions, one for each. */
  answers?: string[]
  /** Where the answer was given. `delegation`: by an agent to which the workspace's policy delegates this. */
  surface?: 'page' | 'terminal' | 'delegation'
  /** The delegation that was used, as a text. */
  delegation?: string
  /** Who gave the answer, if it was given on another machine: `alice on laptop`. */
  asker?: string
}

export type ApprovalFact = ApprovalOpened | ApprovalClosed
