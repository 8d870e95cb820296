// The command that a rule (a pure function that decides) gets, and the verdict that it answers: facts with an outcome for the caller, or a refusal.

import { type Fact, type Refusal, type RefusalCode, type RefusalDetails, refusal } from '@agent-relay/sdk/protocol'
import type { WaitingMessage } from './view.ts'
import type { World } from './world.ts'

/** A command as a rule gets it. The engine adds the time and ids before: rules have no clock and no randomness, and ask the world who is connected. */
export interface Command<I> {
  input: I
  /** The agent that gives the command, or the daemon itself. */
  by: string
  at: number
  /** A fresh id for whatever the command creates. */
  mint: string
  session?: string
  world: World
}

export type Outcome = Record<string, unknown>
/** A refusal as a verdict. Helper functions of a rule return it too when they cannot go on. */
export interface Refused {
  refusal: Refusal
}
/**
 * The answer of a rule. `body` and `payload` belong to the entry that the facts become: see journal.ts. `found` is what the rule read and the answer
 * will show; it is not stored and only saves reading the same rows again.
 */
export type Verdict =
  | { facts: Fact[]; outcome: Outcome; body?: string; payload?: Uint8Array; found?: WaitingMessage[] }
  | Refused

export function recordFacts(
  facts: Fact[],
  outcome: Outcome = {},
  body?: string,
  found?: WaitingMessage[],
): Exclude<Verdict, Refused> {
  return { facts, outcome, body, found }
}

export function refuse(code: RefusalCode, details?: RefusalDetails): Refused {
  return { refusal: refusal(code, details) }
}
