// The journal as an interface: entries in order, each with everything that another copy of the workspace needs to make the same rows. Its
// implementation decides where it is kept. The one in SQLite passes tests/store/journal-suite.ts; cluster/cluster-journal.ts says what a cluster must
// do beyond that.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { Outcome } from './verdict.ts'

/** An entry as the journal keeps it: its facts, the answer to its command, and what belongs to it. */
export interface JournalEntry extends Entry {
  rule: string
  /** A digest of the command's input: the same id with another input is a mistake of its sender. Unset: not known. */
  digest?: string
  outcome: Outcome
  /** The text of the entry's message, or the input, output, task, contract or screen that one of its facts tells of. */
  body?: string
  /** The payload of a run, as gzip. Set where an entry is written; readers ask for it with `Journal.payload`. */
  payload?: Uint8Array
}

/** The origin of an entry in a journal that several machines share. */
export interface Origin {
  /** The machine whose daemon appended it. */
  machine: string
  /**
   * A value that the cluster makes for this append alone. An entry of the same number with another mark belongs to another history: the cluster has
   * lost acknowledged entries. Machine and cause would not tell the two apart, since a command that was lost is asked again.
   */
  mark: string
  /** Why the entry counts for nothing. Such an entry keeps its number, and has no facts. */
  voidFor?: string
}

/** An entry that counts for nothing. */
export interface VoidEntry {
  seq: number
  machine: string
  why: string
}

/** The prefix of marks of entries that were copied into the cluster. Only the cluster makes marks. */
export const copyMark = 'copy-'

/** The prefix of marks of entries that the administrator of the database has made. Those are not judged. */
export const administratorMark = 'admin-'

/**
 * The machine of the worker, run or other thing that a fact tells of: the one that appended the entry, as the cluster tells, whatever the fact says.
 * Otherwise a machine could have a program started on another one. Entries that were copied into the cluster may tell of other machines.
 */
export function machineOf(fact: { machine?: string }, { machine, mark }: Partial<Origin>): string | null {
  const isProven = mark !== undefined && !mark.startsWith(copyMark)
  return (isProven ? machine : fact.machine) ?? null
}

/** An entry that has no number yet. */
export type Draft = Omit<JournalEntry, 'seq'>

/** The earlier answer to a command. */
export type Answered = Pick<JournalEntry, 'seq' | 'rule' | 'digest' | 'outcome'>

export interface Journal {
  /** The number of the last entry; 0 where there is none. Numbers have no gaps. */
  readonly lastSeq: number
  /** The earlier answer to a command whose sender did not hear it and asks again. Sender and the sender's id identify a command. */
  answered(by: string, cause: string): Answered | undefined
  /** Entries after a number, oldest first, complete except for their payloads. */
  follow(since: number, limit: number): JournalEntry[]
  /** The payload of an entry; undefined where it has none. */
  payload(seq: number): Uint8Array | undefined
}
