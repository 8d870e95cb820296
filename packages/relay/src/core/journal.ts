// The journal as an interface: a workspace's entries in order, each with everything that another copy of the workspace needs to make the same rows. Each
// implementation decides where its entries are kept. The one in SQLite passes tests/store/journal-suite.ts; cluster/cluster-journal.ts says what a cluster
// must do beyond that.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { Outcome } from './verdict.ts'

/** An entry as the journal keeps it: the entry's facts, the answer to its command, and the texts that belong to it. */
export interface JournalEntry extends Entry {
  rule: string
  /** A digest of the command's input. The same command id with another digest is a mistake of the sender. Unset if unknown. */
  digest?: string
  outcome: Outcome
  /** The text of the entry's message, or the input, output, task, contract or screen that one of the entry's facts tells of. */
  body?: string
  /** The payload of a run, as gzip. Set when an entry is written; readers of entries call `Journal.payload` instead. */
  payload?: Uint8Array
}

/** The origin of an entry in a journal that several machines share. */
export interface EntryOrigin {
  /** The machine whose daemon appended the entry. */
  machine: string
  /**
   * A value that the cluster makes for this append alone. If an entry of the same number has another mark, it belongs to another history: the cluster has
   * lost acknowledged entries. Machine and cause would not tell the two apart, since a lost command is given again.
   */
  mark: string
  /** Why the entry is void, and so ignored; unset for a valid entry. A void entry keeps its number and has no facts. */
  voidFor?: string
}

/** An entry that every machine ignores, and why. */
export interface VoidEntry {
  seq: number
  machine: string
  why: string
}

/** The prefix of `mark` in entries that were copied into the cluster. Only the cluster makes marks. */
export const copyMark = 'copy-'

/** The prefix of `mark` in entries that the administrator of the database has made. Machines do not judge those entries. */
export const administratorMark = 'admin-'

/**
 * Returns the machine of the worker, run or other thing that a fact is about: the machine that appended the entry, as the cluster reports, whatever the fact
 * says. Otherwise a machine could have a program started on another machine. Only a fact in an entry that was copied into the cluster may name another machine.
 */
export function machineOf(fact: { machine?: string }, { machine, mark }: Partial<EntryOrigin>): string | null {
  const isProven = mark !== undefined && !mark.startsWith(copyMark)
  return (isProven ? machine : fact.machine) ?? null
}

/** An entry that has no number yet. */
export type EntryDraft = Omit<JournalEntry, 'seq'>

/** The recorded answer to a command that was given before. */
export type RecordedAnswer = Pick<JournalEntry, 'seq' | 'rule' | 'digest' | 'outcome'>

export interface Journal {
  /** The number of the last entry; 0 if the journal is empty. Numbers have no gaps. */
  readonly lastSeq: number
  /** Returns the recorded answer to a command whose sender did not hear it and asks again. `by` is the sender and `cause` the sender's id for the command. */
  recordedAnswer(by: string, cause: string): RecordedAnswer | undefined
  /** Returns entries after a number, oldest first, complete except for their payloads. */
  entriesAfter(since: number, limit: number): JournalEntry[]
  /** Returns the payload of an entry; undefined if it has none. */
  payload(seq: number): Uint8Array | undefined
}
