// The journal of a workspace that several machines share, as a contract: what a daemon needs of the cluster, which is where that journal is
// kept. One object is one machine's connection to one workspace. Every implementation passes tests/cluster/cluster-suite.ts.
//
// Nobody leads. A daemon decides on its own replica and appends; the append says up to where the replica has seen, and what was read of it.
// Where somebody else has written one of these keys since then, nothing is written, and the daemon is told what it has missed.

import type { Draft, JournalEntry, Origin } from '../core/journal.ts'

/** Entries that one answer carries at most. A replica that lacks more follows first, so the keys of older entries need not be kept. */
export const pageEntriesMax = 2_000

/** An entry may be stamped this much later than the cluster's own clock says: one machine's wrong clock must not become everybody's. */
export const aheadMsMax = 1_000

/**
 * What an entry changes, as conflict keys. The cluster believes it, and every machine checks it. `note`: nobody's decision depends on it.
 */
export type Writes = readonly string[] | 'note'

/**
 * An entry of the shared journal. `writes` is unset in entries that machines do not judge, and in those of before it was kept. `isBroken`: its
 * text is no entry, or too long, so that it has no facts.
 */
export type SharedEntry = JournalEntry & Omit<Origin, 'voidFor'> & { writes?: Writes; isBroken?: true }

export type SharedDraft = Draft & { writes: Writes }

/** No line of a client is longer, so no command makes an entry that is. */
export const entryBytesMax = 16 * 1024 * 1024

/** How far a replica has seen: the number and the mark of its last entry. */
export type Place = Pick<SharedEntry, 'seq' | 'mark'>

export const beginning: Place = { seq: 0, mark: '' }

export interface Append {
  known: Place
  /** Conflict keys that the decisions read. `all`: they may depend on anything that was decided. */
  reads: readonly string[] | 'all'
  /** In order; no two of one command. Without any the append is a barrier: it says whether what was read still holds. */
  drafts: readonly SharedDraft[]
}

/** What the cluster adds to a draft. Its time is that of the draft unless that lies ahead, or before the entry before it. */
export type Numbered = Pick<SharedEntry, 'seq' | 'at' | 'mark'>

/** This machine gets no further with this workspace until somebody does something about it. */
export type Stopped =
  /** The identity is used by a daemon that started later. */
  | { kind: 'fenced' }
  /** The entry at the known place is missing, or is another one. */
  | { kind: 'diverged'; head: number }
  /** `why`: the server does not say whether this machine was removed, or only its password is another one. */
  | { kind: 'revoked'; why?: string }
  /** The workspace holds facts that this version does not know. */
  | { kind: 'newer' }
  /** The workspace is not shared any more. */
  | { kind: 'removed' }

export type Appended =
  /** Stored, or for a barrier: it still holds. `missed`: all entries between the known place and the first of these. */
  | { kind: 'ok'; numbered: Numbered[]; missed: SharedEntry[] }
  /** Nothing was written: since the known place a key that was read has changed, or one of the commands got an entry; or more than a page is missing. */
  | { kind: 'behind'; missed: SharedEntry[] }
  // COMPAT(0.1): in format 1 the cluster itself keeps the homes of agents.
  /** Nothing was written: the home of this agent is on another machine. */
  | { kind: 'denied'; agent: string; missed: SharedEntry[] }
  | Stopped

/** `isMore`: there are more than were asked for, or than one answer carries. */
export type Followed = { kind: 'entries'; entries: SharedEntry[]; isMore?: boolean } | Stopped

/** Every call fails with `ClusterUnreachable` where no answer came. */
export interface ClusterJournal {
  /** All of it or nothing, on the disk once it is answered. Entries are numbered in the order of their commits, without gaps. */
  append(append: Append): Promise<Appended>
  /**
   * As `append`, but nobody else appends between what `decide` is told and what it answers: for a daemon that has lost several times. Those
   * who ask get their turn in order, for at most a second each.
   */
  inTurn(known: Place, decide: (missed: SharedEntry[]) => Append): Promise<Appended>
  /** Entries after a place, oldest first, whole but for their payloads. */
  follow(known: Place, limit: number): Promise<Followed>
  /** The payload of an entry; undefined where it has none. */
  payload(seq: number): Promise<Uint8Array | undefined>
  /** Tells the number of the last entry when somebody else has appended. A hint: it may be lost, doubled or late. */
  onHint(listener: (head: number) => void): { stop(): void }
  /** False where hints do not come through, as over a pool that changes connections: whoever follows looks more often. */
  readonly hasHints?: boolean
}

/** Why the server of a cluster does not do what is asked, for people. Its texts: postgres/faults.ts. */
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
  /** Whole sentences, with what to do next. */
  text: string
  /** Somebody has to do something first: to ask again changes nothing. */
  isLasting: boolean
}

export class ClusterUnreachable extends Error {
  /** The question never left, so nothing was stored. Otherwise it is not known: the answer may have been lost after the commit. */
  readonly isUnsent: boolean
  readonly fault: ServerFault

  constructor(why: string | ServerFault, isUnsent: boolean) {
    const fault: ServerFault = typeof why === 'string' ? { kind: 'other', text: why, isLasting: false } : why
    super(fault.text)
    this.isUnsent = isUnsent
    this.fault = fault
  }
}
