// The contract for the journal of a workspace that several machines share. The cluster is where that journal is kept. One object is one machine's
// connection to one workspace. Every implementation passes tests/cluster/cluster-suite.ts.
//
// There is no leader. A daemon decides on its own replica and appends. The append says up to where the replica has read, and which conflict keys the
// decision read. If another daemon has written one of these keys since then, nothing is written, and the daemon is sent the entries that it has missed.

import type { EntryDraft, EntryOrigin, JournalEntry } from '../core/journal.ts'

/** Maximum number of entries in one answer. A replica that lacks more entries must follow first, so the keys of older entries need not be kept. */
export const pageEntriesMax = 2_000

/** Maximum lead of an entry's time over the cluster's own clock: one machine's wrong clock must not become everybody's. */
export const entryAheadMsMax = 1_000

/** The conflict keys that an entry changes. The cluster believes the list, and every machine checks it. `note`: no decision depends on the entry. */
export type ChangedKeys = readonly string[] | 'note'

/**
 * An entry of the shared journal. `writes` is unset in entries that machines do not judge, and in entries from before `writes` was kept. `isBroken`: the
 * text cannot be parsed or is too long, so the entry has no facts.
 */
export type SharedEntry = JournalEntry & Omit<EntryOrigin, 'voidFor'> & { writes?: ChangedKeys; isBroken?: true }

export type SharedDraft = EntryDraft & { writes: ChangedKeys }

/** Maximum size of an entry. A client's line is no longer than this, so no command makes a longer entry. */
export const entryBytesMax = 16 * 1024 * 1024

/** A replica's position: the number and the mark of the last entry that it has. */
export type JournalPosition = Pick<SharedEntry, 'seq' | 'mark'>

export const journalStart: JournalPosition = { seq: 0, mark: '' }

export interface Append {
  position: JournalPosition
  /** Conflict keys that the decisions read. `all`: the decisions may depend on every decision before. */
  reads: readonly string[] | 'all'
  /** The drafts in order, at most one for each command. An append without drafts is a barrier: it asks whether what was read still holds. */
  drafts: readonly SharedDraft[]
}

/** Fields that the cluster adds to a draft. The time is the draft's own, unless it lies ahead of the cluster's clock or before the previous entry's time. */
export type AssignedFields = Pick<SharedEntry, 'seq' | 'at' | 'mark'>

/** Why this machine cannot follow this workspace any further until somebody acts. */
export type StopReason =
  /** A daemon that started later uses this machine's identity. */
  | { kind: 'fenced' }
  /** The replica's last entry is missing from the journal, or another entry has its number. */
  | { kind: 'diverged'; head: number }
  /** This machine was removed from the cluster. `why` is set if the machine may only have another password, which the server does not tell apart. */
  | { kind: 'revoked'; why?: string }
  /** The workspace holds facts that this version does not know. */
  | { kind: 'newer' }
  /** The workspace is not shared any more. */
  | { kind: 'removed' }

export type AppendResult =
  /** Stored; for an append without drafts, what was read still holds. `missed`: all entries between the replica's last entry and the first stored one. */
  | { kind: 'ok'; numbered: AssignedFields[]; missed: SharedEntry[] }
  /** Nothing was written: a key that was read has changed since the replica's last entry, a command has an entry already, or more than a page is missing. */
  | { kind: 'behind'; missed: SharedEntry[] }
  // COMPAT(0.1): in format 1 the cluster itself keeps the homes of agents.
  /** Nothing was written: the home of this agent is on another machine. */
  | { kind: 'denied'; agent: string; missed: SharedEntry[] }
  | StopReason

/** The answer to `follow`. `isMore`: the journal has more entries than were asked for, or than fit into one answer. */
export type FollowResult = { kind: 'entries'; entries: SharedEntry[]; isMore?: boolean } | StopReason

/** One machine's connection to the journal. Every call fails with `ClusterUnreachable` if no answer came. */
export interface ClusterJournal {
  /** Stores all drafts or none; they are on disk when the call returns. Numbers follow the order of commits, without gaps. */
  append(append: Append): Promise<AppendResult>
  /**
   * Appends like `append`, but no other daemon can append between the entries that `decide` is given and its answer: for a daemon whose appends came too late
   * several times. Callers get their turn in order, for at most a second each.
   */
  appendInTurn(known: JournalPosition, decide: (missed: SharedEntry[]) => Append): Promise<AppendResult>
  /** Returns the entries after a place, oldest first, complete except for their payloads. */
  follow(known: JournalPosition, limit: number): Promise<FollowResult>
  /** Returns the payload of an entry; undefined if it has none. */
  payload(seq: number): Promise<Uint8Array | undefined>
  /** Calls the listener with the number of the last entry after another daemon has appended. This is a hint: it may be lost, doubled or late. */
  onHint(listener: (head: number) => void): { stop(): void }
  /** Whether hints arrive. False, for example, behind a connection pool; followers then look more often. */
  readonly hasHints?: boolean
}

/** Why the cluster's server did not do what was asked, in words for people. The texts are in postgres/faults.ts. */
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
  /** The fault in whole sentences, with what to do next. */
  text: string
  /** Whether asking again is useless until somebody has done something about the fault. */
  isLasting: boolean
}

export class ClusterUnreachable extends Error {
  /** Whether the question was never sent, so that nothing was stored. If false, the outcome is unknown: the answer may have been lost after the commit. */
  readonly isUnsent: boolean
  readonly fault: ServerFault

  constructor(why: string | ServerFault, isUnsent: boolean) {
    const fault: ServerFault = typeof why === 'string' ? { kind: 'other', text: why, isLasting: false } : why
    super(fault.text)
    this.isUnsent = isUnsent
    this.fault = fault
  }
}
