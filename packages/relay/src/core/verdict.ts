// What a rule answers: facts with an outcome for the caller, or a refusal. And the command it was asked.

import { type Fact, type Refusal, type RefusalCode, type RefusalDetails, refusal } from '@agent-relay/sdk/protocol'
import type { Waiting } from './view.ts'

/** Stamped by the engine before a rule sees it: rules have no clock, no randomness and no idea of who is connected. */
export interface Command<I> {
  input: I
  /** The agent it is done as, or the daemon itself. */
  by: string
  at: number
  /** A fresh id for whatever the command makes. */
  mint: string
  session?: string
  world: World
}

/** What the rules may know of the world outside the tables, as it stood when the command was decided. */
export interface World {
  isLive(agent: string): boolean
  /** The live session that a hold belongs to: its own id names a session, or a part of one such as a watch. */
  holder(hold: string): string | undefined
}

export type Outcome = Record<string, unknown>
/** A refusal as a verdict: also what a helper of a rule answers when it cannot go on. */
export interface Refused {
  refusal: Refusal
}
/**
 * `body` is that of the message among the facts: it is stored in the message's row, not in the journal. `found` is what the rule read
 * and the answer will show: stored nowhere, it only spares reading it again. `payload` is a run's, as gzip; it belongs to the entry too.
 */
export type Verdict =
  | { facts: Fact[]; outcome: Outcome; body?: string; payload?: Uint8Array; found?: Waiting[] }
  | Refused

export function record(
  facts: Fact[],
  outcome: Outcome = {},
  body?: string,
  found?: Waiting[],
): Exclude<Verdict, Refused> {
  return { facts, outcome, body, found }
}

export function refuse(code: RefusalCode, details?: RefusalDetails): Refused {
  return { refusal: refusal(code, details) }
}
