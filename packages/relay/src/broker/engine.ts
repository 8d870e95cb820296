// The interface of the engine, through which every change of a workspace goes. Commands go in; each is answered once it is stored, or with a refusal.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { RuleInput, RuleName } from '../core/decide.ts'
import type { RecordedAnswer } from '../core/journal.ts'
import type { SharedTrouble } from '../core/shared-trouble.ts'
import type { Outcome } from '../core/verdict.ts'
import type { WaitingMessage } from '../core/view.ts'
import type { StoredDecision } from '../store/call-digest.ts'

/**
 * Makes the digest by which a repeated call is recognised. With `stored`, the verdict on the call, it returns the text to keep in the entry: see
 * store/call-digest.ts.
 */
export type CallDigest = (stored?: StoredDecision) => string

export interface Submission<R extends RuleName> {
  rule: R
  input: RuleInput<R>
  by: string
  /** The sender's own id for this command. A command with the same `by` and `cause` is carried out once. */
  cause: string
  /** Makes a digest of the operation and its input; called only when the digest is stored or compared. */
  digest?: CallDigest
  session?: string
  /** The id for the new thing, if the caller has chosen it: a message to several workspaces has the same id in each. */
  newId?: string
}

/** The answer to a command. `repeat`: the command was carried out before, and this is its former answer. */
export type CommandReply =
  | { seq: number; outcome: Outcome; repeat: boolean; found?: WaitingMessage[] }
  | { refusal: Refusal }

export interface Engine {
  /** Whether the queue of commands is empty, so that work that can wait may run. */
  readonly isIdle: boolean
  submit<R extends RuleName>(submission: Submission<R>): Promise<CommandReply>
  /** Commits changes that belong to no command, such as one step of pruning old messages. Unset if other machines write the journal too. */
  commitMaintenance?<T>(work: () => T extends Promise<unknown> ? never : T): T
  /** Fetches the payload bytes of an entry that another machine has written. */
  fetchPayload?(seq: number): Promise<Uint8Array | undefined>
  /** The reason why this machine cannot take part in the shared workspace, for now or until somebody acts. Unset if it can. */
  readonly trouble?: Pick<SharedTrouble, 'stopped' | 'cutOff'>
  /** Time since this machine's copy was last known to hold every entry of a shared workspace. Unset if no other machine writes the journal. */
  readonly replicaLagMs?: number
  /** Called before closing: reports this machine's latest deliveries to the other machines, unless that takes long. */
  reportBeforeClose?(): Promise<void>
  /** Ends the engine: waiting and later commands are answered with this refusal. */
  close(refused: Refusal): void
}

/** The prefixes of the ids of new things, such as messages and workers, by the command that creates the thing. */
export const newIdPrefixes: Partial<Record<RuleName, string>> = {
  'message.send': 'm',
  'action.invoke': 'act',
  'worker.spawn': 'wk',
  'run.start': 'run',
  // For `run.complete` and `run.stop`, the id is that of the message that tells of the run's end.
  'run.complete': 'm',
  'run.stop': 'm',
  'notice.tell': 'm',
}

/**
 * Returns a refusal if the id was used for another call before: with that call's answer the sender would believe that this one was stored. Undefined if it is a
 * repeat of the same call.
 */
export function reuseRefusal(
  { rule, digest }: RecordedAnswer,
  asked: { rule: string; cause: string; digest?: () => string },
): Refusal | undefined {
  // Without a stored digest only the rules are compared: entries from before version 0.2, and those that the daemon itself makes, have none.
  const isSame = rule === asked.rule && (digest === undefined || !asked.digest || digest === asked.digest())
  return isSame ? undefined : refusal('call.reused', { id: asked.cause, operation: rule })
}
