// The engine as a contract: the one road of every change. Commands go in; each is answered once it is stored, or with a refusal.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { RuleInput, RuleName } from '../core/decide.ts'
import type { Answered } from '../core/journal.ts'
import type { SharedTrouble } from '../core/shared-trouble.ts'
import type { Outcome } from '../core/verdict.ts'
import type { Waiting } from '../core/view.ts'

export interface Submission<R extends RuleName> {
  rule: R
  input: RuleInput<R>
  by: string
  /** The sender's own id for this command: the same (by, cause) runs once. */
  cause: string
  /** What was asked, in short; made only where it is stored or compared. */
  digest?: () => string
  session?: string
  /** An id made elsewhere, for a message that goes to several workspaces. */
  mint?: string
}

/** `repeat`: the command had been carried out before, and this is the answer it got then. */
export type Reply = { seq: number; outcome: Outcome; repeat: boolean; found?: Waiting[] } | { refusal: Refusal }

export interface Engine {
  /** Nothing waits to be decided: a good moment for work that can wait. */
  readonly isIdle: boolean
  submit<R extends RuleName>(submission: Submission<R>): Promise<Reply>
  /** One commit that carries out no command, such as a slice of a pruning. Only where this machine alone writes the journal. */
  tidy?<T>(work: () => T extends Promise<unknown> ? never : T): T
  /** What belongs to an entry that another machine has written: it is there once somebody asks for it. */
  payload?(seq: number): Promise<Uint8Array | undefined>
  /** Of a shared workspace: this machine cannot go on with the others, for now or until somebody does something about it. */
  readonly trouble?: Pick<SharedTrouble, 'stopped' | 'cutOff'>
  /** Before it is closed: what others are still to be told is told, if that is soon done. */
  leave?(): Promise<void>
  /** Decides nothing more: every command that waits or still comes is answered with this refusal. */
  close(refused: Refusal): void
}

/** The ids that commands make begin with a letter or word for their kind. */
export const mintPrefixes: Partial<Record<RuleName, string>> = {
  'message.send': 'm',
  'action.invoke': 'act',
  'worker.spawn': 'wk',
  'run.start': 'run',
  // The message that tells of the end.
  'run.complete': 'm',
  'run.stop': 'm',
  'notice.tell': 'm',
}

/** One id names one call: the answer to another call would tell the sender that something was stored which was not. */
export function reuseOf(
  { rule, digest }: Answered,
  asked: { rule: string; cause: string; digest?: () => string },
): Refusal | undefined {
  // Entries from before version 0.2 have no digest; neither do entries that the daemon itself makes.
  const isSame = rule === asked.rule && (digest === undefined || !asked.digest || digest === asked.digest())
  return isSame ? undefined : refusal('call.reused', { id: asked.cause, operation: rule })
}
