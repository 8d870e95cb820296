// The contract for the journal of a workspace that several machines share. The cluster is where that journal is kept. One object is one machine's
// connection to one workspace. Every implementation passes tests/cluster/cluster-suite.ts.
//
// There is no leader. A daemon decides on its own replica and appends; the append says up to where the replica has read, and which keys the decision
// read. If somebody else has written one of these keys since then, nothing is written, and the daemon is sent the entries that it has missed.

import type { Draft, JournalEntry, Origin } from '../core/journal.ts'

/** Maximum number of entries in one answer. A replica that lacks more follows first, so the keys of older entries need not be kept. */
export const pageEntriesMax = 2_000

/** Maximum lead of an entry's time over the cluster's own clock: one machine's wrong clock must not become everybody's. */
export const aheadMsMax = 1_000

/** The conflict keys that an entry changes. The cluster believes them, and every machine checks them. `note`: no decision depends on the entry. */
export type Writes = readonly string[] | 'note'

/**
 * An entry of the shared journal. `writes` is unset in entries that machines do not judge, and in entries from before it was kept. `isBroken`: the text
 * cannot be parsed or is too long, so the entry has no facts.
 */
export type SharedEntry = JournalEntry & Omit<Origin, 'voidFor'> & { writes?: Writes; isBroken?: true }

export type SharedDraft = Draft & { writes: Writes }

/** Maximum size of an entry. No line of a client is longer, so no command makes a longer entry. */
export const entryBytesMax = 16 * 1024 * 1024

/** A replica's position: the number and the mark of the last entry that it has. */
export type Place = Pick<SharedEntry, 'seq' | 'mark'>

export const beginning: Place = { seq: 0, mark: '' }

export interface Append {
  known: Place
  /** Conflict keys that the decisions read. `all`: they may depend on every decision before. */
  reads: readonly string[] | 'all'
  /** The drafts in order, at most one for each command. An append without drafts is a barrier: it asks whether what was read still holds. */
  drafts: readonly SharedDraft[]
}

/** Fields that the cluster adds to a draft. The time is the draft's own unless it lies ahead of the cluster's clock, or before the previous entry. */
export type Numbered = Pick<SharedEntry, 'seq' | 'at' | 'mark'>

/** Why this machine gets no further with this workspace until somebody acts. */
export type Stopped =
  /** A daemon that started later uses this machine's identity. */
  | { kind: 'fenced' }
  /** The entry at the known place is missing, or another entry stands there. */
  | { kind: 'diverged'; head: number }
  /** This machine was removed. `why` is set if it may only have another password, which the server does not tell apart. */
  | { kind: 'revoked'; why?: string }
  /** The workspace holds facts that this version does not know. */
  | { kind: 'newer' }
  /** The workspace is not shared any more. */
  | { kind: 'removed' }

export type Appended =
  /** Stored; for a barrier, what was read still holds. `missed`: all entries between the known place and the first stored one. */
  | { kind: 'ok'; numbered: Numbered[]; missed: SharedEntry[] }
  /** Nothing was written: a key that was read has changed since the known place, a command has an entry already, or more than a page is missing. */
  | { kind: 'behind'; missed: SharedEntry[] }
  // COMPAT(0.1): in format 1 the cluster itself keeps the homes of agents.
  /** Nothing was written: the home of this agent is on another machine. */
  | { kind: 'denied'; agent: string; missed: SharedEntry[] }
  | Stopped

/** `isMore`: the journal has more entries than were asked for, or than fit into one answer. */
export type Followed = { kind: 'entries'; entries: SharedEntry[]; isMore?: boolean } | Stopped

/** One machine's connection to the journal. Every call fails with `ClusterUnreachable` if no answer came. */
export interface ClusterJournal {
  /** Stores all drafts or none; they are on disk when the call returns. Numbers follow the order of commits, without gaps. */
  append(append: Append): Promise<Appended>
  /**
   * As `append`, but nobody else can append between the entries that `decide` is given and its answer: for a daemon that has lost several times. Callers
   * get their turn in order, for at most a second each.
   */
  inTurn(known: Place, decide: (missed: SharedEntry[]) => Append): Promise<Appended>
  /** Entries after a place, oldest first, complete except for their payloads. */
  follow(known: Place, limit: number): Promise<Followed>
  /** The payload of an entry; undefined if it has none. */
  payload(seq: number): Promise<Uint8Array | undefined>
  /** Tells the number of the last entry after somebody else has appended. A hint: it may be lost, doubled or late. */
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
  /** Asking again is useless until somebody has done something about it. */
  isLasting: boolean
}

export class ClusterUnreachable extends Error {
  /** True if the question was never sent, so nothing was stored. If false, the outcome is unknown: the answer may have been lost after the commit. */
  readonly isUnsent: boolean
  readonly fault: ServerFault

  constructor(why: string | ServerFault, isUnsent: boolean) {
    const fault: ServerFault = typeof why === 'string' ? { kind: 'other', text: why, isLasting: false } : why
    super(fault.text)
    this.isUnsent = isUnsent
    this.fault = fault
  }
}
