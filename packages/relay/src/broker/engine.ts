// The contract of the engine, through which every change goes. Commands go in; each is answered once it is stored, or with a refusal.

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
  /** The sender's own id for this command: the same pair of `by` and `cause` runs once. */
  cause: string
  /** A digest of the operation and its input; made only when it is stored or compared. */
  digest?: () => string
  session?: string
  /** An id made elsewhere, for a message that goes to several workspaces. */
  mint?: string
}

/** The answer to a command. `repeat`: the command had been carried out before, and this is its former answer. */
export type Reply = { seq: number; outcome: Outcome; repeat: boolean; found?: Waiting[] } | { refusal: Refusal }

export interface Engine {
  /** True while no command waits to be decided: a good moment for work that can wait. */
  readonly isIdle: boolean
  submit<R extends RuleName>(submission: Submission<R>): Promise<Reply>
  /** Makes one commit that carries out no command, such as a slice of a pruning. Only where this machine alone writes the journal. */
  tidy?<T>(work: () => T extends Promise<unknown> ? never : T): T
  /** The bytes of an entry that another machine has written, fetched on demand. */
  payload?(seq: number): Promise<Uint8Array | undefined>
  /** The reason why this machine of a shared workspace cannot go on with the others, for now or until somebody acts. */
  readonly trouble?: Pick<SharedTrouble, 'stopped' | 'cutOff'>
  /** Called before closing: tells others what they still have to know, if that takes little time. */
  leave?(): Promise<void>
  /** Decides nothing more: waiting and later commands are answered with this refusal. */
  close(refused: Refusal): void
}

/** The ids that commands make begin with a letter or word for their kind. */
export const mintPrefixes: Partial<Record<RuleName, string>> = {
  'message.send': 'm',
  'action.invoke': 'act',
  'worker.spawn': 'wk',
  'run.start': 'run',
  // The id of the message that tells of the run's end.
  'run.complete': 'm',
  'run.stop': 'm',
  'notice.tell': 'm',
}

/** The refusal of an id that was used for another call: the former answer would tell the sender that something was stored which was not. */
export function reuseOf(
  { rule, digest }: Answered,
  asked: { rule: string; cause: string; digest?: () => string },
): Refusal | undefined {
  // Entries from before version 0.2 have no digest; neither do entries that the daemon itself makes.
  const isSame = rule === asked.rule && (digest === undefined || !asked.digest || digest === asked.digest())
  return isSame ? undefined : refusal('call.reused', { id: asked.cause, operation: rule })
}
