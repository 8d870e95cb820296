// The columns of the table of facts (table.ts). A row says, for one type of fact: its fields, which machine may append it, who sees it, which conflict keys it
// changes, and when pruning may delete it. What a fact does to the database is in store/fact-applier.ts and the files that it combines; its texts for people
// are in the SDK.

import type { Fact } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import type { Reader } from '../sight.ts'
import type { NoticeKey, View } from '../view.ts'
import type { FieldChecks } from './shape.ts'

export interface FactRow<F> {
  /** Checks the fact's fields. A field that is not listed comes from a later version and is ignored. */
  shape: FieldChecks<F>
  /** Whether the machine that appended the entry may put this fact into it, in a workspace that several machines share. */
  mayAppend: (fact: F, by: AppendedEntry) => boolean
  audience: Audience<F>
  /** Returns the conflict keys that the fact changes: see core/conflict-keys.ts. */
  changedKeys: (fact: F) => readonly string[]
  /** Unset if the fact is never deleted: what it tells still holds, or can be asked about. */
  prunableWhen?: PrunableWhen<F>
}

/** The rows of all facts whose type fits, such as `run.${string}`. */
export type FactRows<Types extends string> = {
  readonly [K in Extract<Fact['type'], Types>]: FactRow<Extract<Fact, { type: K }>>
}

/** An entry that a machine has appended to the journal, as it is judged before it is applied. */
export interface AppendedEntry {
  /** The machine that appended the entry, by the database role that logged in, as the cluster reports. Nothing else in an entry proves its origin. */
  readonly machine: string
  /** The workspace's state before the entry. */
  readonly view: View
  /** The agent, or the daemon, that gave the command. */
  readonly by: string
  readonly facts: readonly Fact[]
  /** Whether the agent's home is the machine that appended the entry, or becomes that machine by the entry. */
  speaksFor(agent: string): boolean
  /** Whether the given machine is the one that appended the entry, or was removed: every machine acts for a removed one. */
  actsFor(machine: string | undefined): boolean
  /** Returns the agent's home machine in the given epoch: the first home has epoch 1, and each move adds one. */
  homeAt(agent: string, epoch: number): string | undefined
}

/** Refuses facts that no machine may append. Only the administrator of the database does, whose entries are not judged. */
export const noMachine = () => false
export const onlyOwnerMachine = (_: unknown, { machine, view }: AppendedEntry): boolean => view.owner() === machine
export const onlyHomeMachine = ({ agent }: { agent: string }, { speaksFor }: AppendedEntry): boolean => speaksFor(agent)
/** Whether the fact names the machine that appended it. */
export const onlyNamedMachine = (fact: { machine?: string }, { machine }: AppendedEntry): boolean =>
  fact.machine === machine

/**
 * The audience of a fact: who sees it as an event, besides the holder of the workspace key, who sees all facts. holder: nobody else. everyone: anybody, as
 * far as `if` allows. agents: the agents that the fact concerns. readers: those who see the fact's message.
 */
export type Audience<F> =
  | { to: 'holder' }
  | { to: 'everyone'; if?: (view: View, reader: Reader, fact: F) => boolean }
  | { to: 'agents'; agentNames: (fact: F, known: AudienceLookups) => Iterable<string | undefined> }
  | { to: 'readers'; messageId: (fact: F) => string }

/** Look-ups of the agents that a fact concerns but does not name. */
export interface AudienceLookups {
  message(id: string): { from: string } | undefined
  actions: { invocation(id: string): { provider?: string } | undefined }
  runs: { byId(id: string): { parent: string } | undefined }
}

export const [toHolder, toEveryone] = [{ to: 'holder' }, { to: 'everyone' }] as const

/** Returns no conflict keys, for facts on which no decision of another machine has to depend, such as tokens and receipts. */
export const noConflictKeys = (): string[] => []
export const agentKeys = ({ agent }: { agent: string }): string[] => [conflictKeys.agent(agent)]

/**
 * When nothing depends on a fact any more, so that pruning may delete it. old: once the fact is older than the horizon. withMessage:
 * together with the message of this id. oldAnd: when the fact is old and the function returns true.
 */
export type PrunableWhen<F> =
  | 'old'
  | { withMessage: (fact: F) => string }
  | { oldAnd: (fact: F, lookups: PruneLookups) => boolean }

/** Look-ups by which pruning sees whether the things that old facts tell of are over. */
export interface PruneLookups {
  hasClaim(path: string, machine: string | undefined): boolean
  /** Returns the session that offers an action of this name at present. */
  sessionOffering(action: string): string | undefined
  isCallOver(id: string): boolean
  isApprovalOver(id: string): boolean
  isNoticeAwaited(notice: NoticeKey): boolean
}
