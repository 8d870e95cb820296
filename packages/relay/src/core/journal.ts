// The journal as a contract: entries in order, each with everything that another copy of the workspace needs to make the same rows. Where it
// is kept is decided by its implementation. The one in SQLite passes tests/store/journal-suite.ts; what a cluster
// must do beyond that is in cluster/cluster-journal.ts.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { Outcome } from './verdict.ts'

/** An entry as the journal keeps it: its facts, how its command was answered, and what belongs to it. */
export interface JournalEntry extends Entry {
  rule: string
  /** A digest of what was asked: an id that comes again with another input is a mistake of its sender. Unset: not known. */
  digest?: string
  outcome: Outcome
  /** The text of its message, or the input, output, task, contract or screen that one of its facts tells of. */
  body?: string
  /** What a run handed over, as gzip. Set where an entry is written; readers ask for it with `Journal.payload`. */
  payload?: Uint8Array
}

/** Where an entry of a journal that several machines share came from. */
export interface Origin {
  /** The machine whose daemon appended it. */
  machine: string
  /**
   * Made by the cluster for this append alone. An entry of the same number with another mark belongs to another history: the cluster has
   * lost what it had acknowledged. Machine and cause would not tell the two apart, since a command that was lost is asked again.
   */
  mark: string
  /** Why the entry counts for nothing. It has its number, and no facts. */
  voidFor?: string
}

/** An entry that counts for nothing. */
export interface VoidEntry {
  seq: number
  machine: string
  why: string
}

/** The marks of entries that were copied into the cluster begin so. Only the cluster makes marks. */
export const copyMark = 'copy-'

/** The marks of entries that the administrator of the database has made, which are not judged, begin so. */
export const administratorMark = 'admin-'

/**
 * Where what a fact tells of is: on the machine that appended the entry, as the cluster tells, whatever the fact says. Otherwise a machine could
 * have a program started on another one. Entries that were copied into the cluster may tell of other machines.
 */
export function machineOf(fact: { machine?: string }, { machine, mark }: Partial<Origin>): string | null {
  const isProven = mark !== undefined && !mark.startsWith(copyMark)
  return (isProven ? machine : fact.machine) ?? null
}

/** An entry that has no number yet. */
export type Draft = Omit<JournalEntry, 'seq'>

/** How a command was answered before. */
export type Answered = Pick<JournalEntry, 'seq' | 'rule' | 'digest' | 'outcome'>

export interface Journal {
  /** The number of the last entry; 0 where there is none. Numbers have no gaps. */
  readonly lastSeq: number
  /** The sender of a command did not hear the answer, and asks again. A command is known by its sender and the sender's id for it. */
  answered(by: string, cause: string): Answered | undefined
  /** Entries after a number, oldest first, whole but for their payloads. */
  follow(since: number, limit: number): JournalEntry[]
  /** The payload of an entry; undefined where it has none. */
  payload(seq: number): Uint8Array | undefined
}
