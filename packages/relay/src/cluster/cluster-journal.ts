// The interface of the journal of a workspace that several machines share. The cluster is the database with that journal. One object is one machine's
// connection to one workspace's journal. Every implementation passes tests/cluster/cluster-suite.ts.
//
// There is no leader. A daemon decides on its own replica (its copy of the workspace) and appends the resulting entries. The append says which entry the
// replica has last, and which conflict keys the decision has read. If another daemon has changed one of these keys since that entry, nothing is stored, and
// the daemon gets the entries that it lacks.

import type { EntryDraft, EntryOrigin, JournalEntry } from '../core/journal.ts'

/**
 * Maximum number of entries in one answer. A replica that lacks more must fetch them before it can append, so the cluster need not keep the conflict keys of
 * older entries.
 */
export const pageEntriesMax = 2_000

/** Maximum time, in ms, by which an entry's time may be ahead of the cluster's clock, so that one machine's wrong clock does not affect all machines. */
export const entryAheadMsMax = 1_000

/**
 * The conflict keys that an entry changes. The cluster relies on this list, and every machine checks it. `note`: the entry is a report of deliveries, on
 * which no decision depends.
 */
export type ChangedKeys = readonly string[] | 'note'

/**
 * An entry of the shared journal. `writes`: the conflict keys that it changes; unset in entries that machines do not judge, and in entries of older
 * versions. `isBroken`: the entry's text cannot be parsed or is too long, so it has no facts.
 */
export type SharedEntry = JournalEntry & Omit<EntryOrigin, 'voidFor'> & { writes?: ChangedKeys; isBroken?: true }

export type SharedDraft = EntryDraft & { writes: ChangedKeys }

/** Maximum size of an entry. A line that a client sends is no longer, so no command leads to a longer entry. */
export const entryBytesMax = 16 * 1024 * 1024

/** A replica's position in the journal: the number and the mark (a random id) of the last entry that the replica has. */
export type JournalPosition = Pick<SharedEntry, 'seq' | 'mark'>

export const journalStart: JournalPosition = { seq: 0, mark: '' }

export interface Append {
  position: JournalPosition
  /** The conflict keys that the decisions have read. `all`: they may depend on any earlier entry. */
  reads: readonly string[] | 'all'
  /** The drafts in order, at most one for each command. An append without drafts stores nothing, and only checks that the keys in `reads` are unchanged. */
  drafts: readonly SharedDraft[]
}

/**
 * Fields that the cluster adds to a draft. The entry's time is that of the draft, unless it is ahead of the cluster's clock or before the time of the
 * previous entry.
 */
export type AssignedFields = Pick<SharedEntry, 'seq' | 'at' | 'mark'>

/** Why this machine cannot follow this workspace any further until somebody acts. */
export type StopReason =
  /** A daemon that started later has the same machine identity, so this one has been shut out. */
  | { kind: 'fenced' }
  /** The cluster's journal lacks the replica's last entry, or has another entry under its number. */
  | { kind: 'diverged'; head: number }
  /**
   * This machine was removed from the cluster. `why`: set if the cause may also be a changed password, because the server gives the same answer for both.
   */
  | { kind: 'revoked'; why?: string }
  /** The workspace has facts that this version does not know. */
  | { kind: 'newer' }
  /** The workspace is not shared any more. */
  | { kind: 'removed' }

export type AppendResult =
  /**
   * The drafts are stored; if there were none, the keys in `reads` are unchanged. `missed`: all entries between the replica's last entry and the first
   * stored one.
   */
  | { kind: 'ok'; numbered: AssignedFields[]; missed: SharedEntry[] }
  /**
   * Nothing was stored: a key in `reads` was changed after the replica's last entry, or a command has an entry already, or the replica lacks more than a
   * page of entries.
   */
  | { kind: 'behind'; missed: SharedEntry[] }
  // COMPAT(0.1): in format 1 the cluster's database keeps the homes of agents.
  /** Nothing was stored: this agent's home is another machine. */
  | { kind: 'denied'; agent: string; missed: SharedEntry[] }
  | StopReason

/** The answer to `follow`. `isMore`: the journal has further entries after these. */
export type FollowResult = { kind: 'entries'; entries: SharedEntry[]; isMore?: boolean } | StopReason

/** One machine's connection to the journal. Every call fails with `ClusterUnreachable` if no answer came. */
export interface ClusterJournal {
  /** Stores all drafts or none. When the call returns, they are on disk. Numbers follow the order of commits and have no gaps. */
  append(append: Append): Promise<AppendResult>
  /**
   * Appends like `append`, but locks the journal while `decide` runs: no other daemon can append after the entries that `decide` gets. For a daemon whose
   * appends came too late several times. Callers get their turns in order, for at most a second each.
   */
  appendInTurn(known: JournalPosition, decide: (missed: SharedEntry[]) => Append): Promise<AppendResult>
  /** Returns the entries after a position, oldest first, complete except for their payloads. */
  follow(known: JournalPosition, limit: number): Promise<FollowResult>
  /** Returns the payload of an entry; undefined if it has none. */
  payload(seq: number): Promise<Uint8Array | undefined>
  /** Calls the listener after another daemon has appended, with the number of the last entry. Such a hint may be lost, doubled or late. */
  onHint(listener: (head: number) => void): { stop(): void }
  /** Whether hints arrive. Some connection pools drop them, for example; the journal is then looked at more often. */
  readonly hasHints?: boolean
}

/** Why the database server did not do what it was asked, as a text for people. postgres/faults.ts makes the texts. */
export interface ServerFault {
  kind:
    | 'away'
    | 'busy'
    | 'full'
    | 'certificate'
    | 'tls'
    | 'password'
    | 'removed'
    | 'rights'
    | 'database'
    | 'schema'
    | 'name'
    | 'stranger'
    | 'other'
  /** The fault in whole sentences, including what to do about it. */
  text: string
  /** Whether trying again is useless until somebody has removed the cause. */
  isLasting: boolean
}

export class ClusterUnreachable extends Error {
  /** Whether the call was never sent, so that nothing was stored. If false, the outcome is unknown: the answer may have been lost after the commit. */
  readonly isUnsent: boolean
  readonly fault: ServerFault

  constructor(why: string | ServerFault, isUnsent: boolean) {
    const fault: ServerFault = typeof why === 'string' ? { kind: 'other', text: why, isLasting: false } : why
    super(fault.text)
    this.isUnsent = isUnsent
    this.fault = fault
  }
}
