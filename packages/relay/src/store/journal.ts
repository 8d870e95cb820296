// The journal in SQLite: writes entries in order, each with the answer to its command, and reads them from a number on. An entry's body and payload are in
// tables of their own, which fact-applier.ts writes.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { EntryOrigin, Journal, JournalEntry, RecordedAnswer, VoidEntry } from '../core/journal.ts'
import type { Outcome } from '../core/verdict.ts'
import { recordedDigest } from './call-digest.ts'
import { type Database, isSqliteError, type Row, readRow, type Statement } from './database.ts'
import { withoutNulls } from './tables.ts'
import type { EntryNumbers, EntryRange } from './visible.ts'

/** Entries that one statement searches for a type of fact. The number is low, since one entry may hold a thousand facts. */
const entriesPerScan = 256

/** Number of void entries (ignored by every machine) in a list of them. */
const voidsShown = 3

const statements = {
  insert: 'INSERT INTO journal (seq, at, by, cause, rule, digest, facts, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  answered: `SELECT j.seq, j.rule, j.outcome, j.digest, m.body, m.kind FROM journal j LEFT JOIN messages m ON m.seq = j.seq
    WHERE j.cause = ? AND j.by = ?`,
  read: 'SELECT seq, at, by, cause, facts FROM journal WHERE seq > ? ORDER BY seq LIMIT (? + 0)',
  replay: `SELECT j.seq, j.at, j.by, j.cause, j.facts, o.machine, o.mark FROM journal j LEFT JOIN origins o ON o.seq = j.seq
    WHERE j.seq > ? ORDER BY j.seq LIMIT (? + 0)`,
  at: 'SELECT seq, at, by, cause, facts FROM journal WHERE seq = ?',
  // The body of an entry is either the body of its message or a row in `bodies`, never both.
  follow: `SELECT j.seq, j.at, j.by, j.cause, j.facts, j.rule, j.outcome, j.digest, coalesce(m.body, b.body), m.kind FROM journal j
    LEFT JOIN messages m ON m.seq = j.seq LEFT JOIN bodies b ON b.seq = j.seq WHERE j.seq > ? ORDER BY j.seq LIMIT (? + 0)`,
  payload: 'SELECT gzip FROM payloads WHERE seq = ?',
  holding: `SELECT seq FROM journal WHERE seq > ?2 AND seq <= ?3
    AND EXISTS (SELECT 1 FROM json_each(?1) t WHERE instr(facts, t.value) > 0) ORDER BY seq`,
  last: 'SELECT max(seq) FROM journal',
  origin: 'INSERT INTO origins (seq, machine, mark, void_for) VALUES (?, ?, ?, ?)',
  voids: 'SELECT seq, machine, void_for FROM origins WHERE void_for IS NOT NULL ORDER BY seq DESC LIMIT (? + 0)',
  originOf: 'SELECT machine, mark, void_for FROM origins WHERE seq = ?',
  adopt: 'INSERT INTO origins (seq, machine, mark) SELECT seq, ?, ? || seq FROM journal WHERE seq <= ?',
  disown: 'DELETE FROM origins',
  keepPayload: 'INSERT OR IGNORE INTO payloads (seq, gzip) VALUES (?, ?)',
}

/** The part of the journal's class that reads. Only store.ts uses the rest. */
export type ReadJournal = Omit<SqliteJournal, 'write' | 'rewind' | 'adopt' | 'disown' | 'keepPayload'>

export class SqliteJournal implements Journal {
  readonly #sql: Record<keyof typeof statements, Statement>
  #lastSeq: number

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
    this.#lastSeq = Number(this.#sql.last.get()?.[0] ?? 0)
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Sets the number of the last entry back after a rollback, which has removed the entries above it. */
  rewind(seq: number): void {
    this.#lastSeq = seq
  }

  /**
   * Inserts an entry. Returns false if its command has an entry already. The unique index on (cause, by) finds that; a query before each insert would cost
   * every command a read.
   */
  write({
    seq,
    at,
    by,
    cause,
    facts,
    rule,
    digest,
    outcome,
    machine,
    mark,
    voidFor,
  }: JournalEntry & Partial<EntryOrigin>): boolean {
    if (seq !== this.#lastSeq + 1) throw new Error(`entry ${seq} cannot follow entry ${this.#lastSeq}`)
    try {
      this.#sql.insert.run(seq, at, by, cause, rule, digest ?? null, JSON.stringify(facts), JSON.stringify(outcome))
    } catch (error) {
      if (isSqliteError(error, 'constraint') && this.recordedAnswer(by, cause)) return false
      throw error
    }
    if (mark !== undefined) this.#sql.origin.run(seq, machine as string, mark, voidFor ?? null)
    this.#lastSeq = seq
    return true
  }

  /** The mark that the cluster gave the last entry. Undefined if the entry was not written through a cluster. */
  get lastMark(): string | undefined {
    return this.originOf(this.#lastSeq)?.mark
  }

  /**
   * Returns the machine that appended an entry to the cluster, and the mark that the cluster gave it. Undefined if the entry was not written through a cluster.
   */
  originOf(seq: number): EntryOrigin | undefined {
    const [machine, mark, voidFor] = (this.#sql.originOf.get(seq) ?? []) as (string | null)[]
    return machine == null || mark == null ? undefined : { machine, mark, ...(voidFor == null ? {} : { voidFor }) }
  }

  /** Returns the newest void entries, which every machine ignores, newest first, with the machine that appended each and the reason. */
  voidEntries(limit = voidsShown): VoidEntry[] {
    return this.#sql.voids.all(limit).map(([seq, machine, why]) => ({ seq, machine, why }) as VoidEntry)
  }

  /**
   * Sets the origin of the entries up to `through` after this machine has copied them into a cluster. `mark` is the prefix of the marks that they have there.
   */
  setOrigins(machine: string, mark: string, through: number): void {
    this.removeOrigins()
    this.#sql.adopt.run(machine, mark, through)
  }

  /** Removes the origins of all entries: the workspace has left its cluster. */
  removeOrigins(): void {
    this.#sql.disown.run()
  }

  /** Stores the payload (a run's result) of an entry that another machine has appended. */
  keepPayload(seq: number, payload: Uint8Array): void {
    this.#sql.keepPayload.run(seq, payload)
  }

  recordedAnswer(by: string, cause: string): RecordedAnswer | undefined {
    const row = this.#sql.answered.get(cause, by)
    if (!row) return undefined
    const [seq, rule, text, ...asked] = row
    const outcome = JSON.parse(text as string)
    return { seq: seq as number, rule: rule as string, digest: digestOfEntry(outcome, asked), outcome }
  }

  entriesAfter(since: number, limit: number): JournalEntry[] {
    return this.#sql.follow.all(since, limit).map(wholeEntryOf)
  }

  payload(seq: number): Uint8Array | undefined {
    return this.#sql.payload.get(seq)?.[0] as Uint8Array | undefined
  }

  // The methods below do not read rule, answer and body of the entries, which makes them much faster.

  /** Reads entries for a replay of the journal, each with the machine that appended it. */
  entriesForReplay(since: number, limit: number): (Entry & Partial<EntryOrigin>)[] {
    return this.#sql.replay.all(since, limit).map((row) => {
      return { ...entryOf(row), ...(withoutNulls({ machine: row[5], mark: row[6] }) as Partial<EntryOrigin>) }
    })
  }

  /** Reads entries after a number, oldest first. */
  read(since: number, limit: number): Entry[] {
    return this.#sql.read.all(since, limit).map(entryOf)
  }

  /**
   * Yields the numbers of the entries in the range that may hold a fact of these types (`run.*` stands for all that begin so), in order, and undefined where
   * the caller may pause. The stored JSON is searched as text: a message that quotes a type may be found too, but no fact is missed.
   */
  *entryNumbersHolding(types: readonly string[], { after, to, isUpward }: EntryRange): EntryNumbers {
    const width = Math.ceil(entriesPerScan / Math.max(1, types.length))
    const texts = JSON.stringify(types.map(textOf))
    for (let [low, high] = [after, to]; low < high; ) {
      const from = isUpward ? low : Math.max(low, high - width)
      const until = isUpward ? Math.min(high, low + width) : high
      const found = this.#sql.holding.all(texts, from, until).map(([seq]) => seq as number)
      yield* isUpward ? found : found.reverse()
      if (isUpward) low = until
      else high = from
      yield undefined
    }
  }

  /** Reads the entry with this number. */
  entryAt(seq: number): Entry | undefined {
    return readRow(this.#sql.at.get(seq), entryOf)
  }
}

/** Returns the part of an entry's JSON by which a fact of this type is found. */
function textOf(type: string): string {
  return type.endsWith('*') ? `"type":"${type.slice(0, -1)}` : `"type":"${type}"`
}

function entryOf([seq, at, by, cause, facts]: Row): Entry {
  return { seq, at, by, cause, facts: JSON.parse(facts as string) } as Entry
}

function wholeEntryOf(row: Row): JournalEntry {
  const [rule, text, ...asked] = row.slice(5)
  const outcome = JSON.parse(text as string)
  const whole = { ...entryOf(row), rule: rule as string, outcome }
  return { ...whole, ...withoutNulls({ digest: digestOfEntry(outcome, asked), body: asked[1] }) } as JournalEntry
}

/**
 * Returns the digest of an entry's call; undefined if the entry has none. `asked` has the entry's columns digest, body and kind, of which the digest may have
 * to be made.
 */
export function digestOfEntry({ to }: Outcome, [digest, body, kind]: Row): string | undefined {
  if (digest === null) return undefined
  return recordedDigest(digest as string, { to, body: body as string, kind: kind as string })
}
