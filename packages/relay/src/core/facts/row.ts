// A row of the table of facts (table.ts), for one kind of fact: its fields, who may say it, who sees it, which conflict keys it writes and when it is
// over. What a fact does to the tables is in store/evolve.ts and the files that it joins, and its words for people are in the SDK.

import type { Fact } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import type { Reader } from '../sight.ts'
import type { NoticeKey, View } from '../view.ts'
import type { Shape } from './shape.ts'

export interface FactRow<F> {
  /** Checks of the fact's fields. A field that is not listed is of a later version, and is passed over. */
  shape: Shape<F>
  /** In a workspace that several machines share: may the machine that appended the entry say this? The default is no. */
  said: (fact: F, by: AppendedEntry) => boolean
  seen: Audience<F>
  writes: (fact: F) => readonly string[]
  over: Over<F>
}

/** The rows of some kinds of facts. */
export type FactRows<T extends Fact['type']> = { readonly [K in T]: FactRow<Extract<Fact, { type: K }>> }

/** An entry that a machine has appended, before it is taken in. */
export interface AppendedEntry {
  /** The machine that appended the entry, as the cluster tells by the role that has logged in. Nothing else in an entry proves its origin. */
  readonly machine: string
  /** The workspace before the entry. */
  readonly view: View
  /** The agent, or the daemon, that gave the command. */
  readonly by: string
  readonly facts: readonly Fact[]
  /** Whether the agent is at home on the machine, or comes home with this entry. */
  speaksFor(agent: string): boolean
  /** Whether the other machine is this one, or was removed: every machine acts for a removed one. */
  actsFor(machine: string | undefined): boolean
  /** The agent's home machine in this epoch. */
  homeAt(agent: string, epoch: number): string | undefined
}

/** No machine may append these facts: only the administrator of the database does, whose entries are not judged. */
export const noMachine = () => false
export const ownerMachine = (_: unknown, { machine, view }: AppendedEntry): boolean => view.owner() === machine
export const homeOfAgent = ({ agent }: { agent: string }, { speaksFor }: AppendedEntry): boolean => speaksFor(agent)
/** Whether the fact names the machine that says it. */
export const namesItself = (fact: { machine?: string }, { machine }: AppendedEntry): boolean => fact.machine === machine

/**
 * The audience of a fact: who sees it as an event. holder: the key's holder alone. everyone: anybody, as far as `if` allows. agents: those that the
 * fact is about. readers: those who see the fact's message. The key's holder sees all facts.
 */
export type Audience<F> =
  | { to: 'holder' }
  | { to: 'everyone'; if?: (view: View, reader: Reader, fact: F) => boolean }
  | { to: 'agents'; who: (fact: F, known: Known) => Iterable<string | undefined> }
  | { to: 'readers'; of: (fact: F) => string }

/** Looks up an agent that a fact concerns but does not name. */
export interface Known {
  message(id: string): { from: string } | undefined
  invocation(id: string): { provider?: string } | undefined
  runs: { byId(id: string): { parent: string } | undefined }
}

export const [holder, everyone] = [{ to: 'holder' }, { to: 'everyone' }] as const

/** The keys of a fact whose effect no rule can see. Rules see no tokens, and see receipts only in the lane of their machine. */
export const noKey = (): string[] => []
export const agentKeys = ({ agent }: { agent: string }): string[] => [keys.agent(agent)]

/**
 * When a fact is over: nothing depends on it any more, and pruning may take it out. never: what it tells is still so, or can be asked about. old:
 * once it is older than the horizon. with: together with this message. once: when it is old and this is so.
 */
export type Over<F> = 'never' | 'old' | { with: (fact: F) => string } | { once: (fact: F, left: Remains) => boolean }

/** Look-ups with which pruning sees whether the things that old facts tell of are over. */
export interface Remains {
  hasClaim(path: string, machine: string | undefined): boolean
  /** The session that offers an action of this name now. */
  offering(action: string): string | undefined
  isCallOver(id: string): boolean
  isApprovalOver(id: string): boolean
  isAwaited(notice: NoticeKey): boolean
}
