// Facts about approvals: opened, closed. `machine`: the machine on which the agent waits; unset if the workspace is not shared by several machines.

import type { ApprovalChoice, ApprovalHow, Question } from '../approvals.ts'

/** An approval was opened: an agent may not go on until a person, or an agent to which that right was delegated, says yes. */
export interface ApprovalOpened {
  type: 'approval.opened'
  id: string
  agent: string
  vendor: string
  tool: string
  /** What the agent wants to do, as text without hidden characters. A long text is cut. */
  input: string
  /** Whether `input` is the complete request, with every character unchanged. */
  isExact: boolean
  /** The number of characters of the request that `input` lacks. The entry's body contains the request up to a limit. */
  hiddenChars?: number
  hiddenLines?: number
  /** Whether the entry's body is the complete request, with every character unchanged. */
  isWhole?: boolean
  directory?: string
  choices: ApprovalChoice[]
  /** The questions, if the agent asks for answers instead of a yes or no. */
  questions?: Question[]
  /** The hash of a random key of the program that asks. After a restart, the daemon recognises by it that the same program asks again. */
  mark?: string
  /** The digest of the whole request. An answer has to repeat it, so that it holds for this request only. */
  digest: string
  machine?: string
}
/** An approval was closed. The entry's `by` is the agent or person that answered, or else the daemon. */
export interface ApprovalClosed {
  type: 'approval.closed'
  id: string
  agent: string
  how: ApprovalHow
  /** The kind of the choice that was taken, if it is known. It may be known even for an answer at the agent's own terminal. */
  kind?: ApprovalChoice['kind']
  /** The id of the chosen answer in `choices`. */
  choice?: string
  words?: string
  /** The answers to the approval's questions, one for each. */
  answers?: string[]
  /** Where the answer was given. delegation: by an agent to which the workspace's policy delegates the right to answer. */
  surface?: 'page' | 'terminal' | 'delegation'
  /** The delegation that allowed the answer, as a text. */
  delegation?: string
  /** The person who answered, if that was on another machine: `alice on laptop`. */
  asker?: string
}

export type ApprovalFact = ApprovalOpened | ApprovalClosed
