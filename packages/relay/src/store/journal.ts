// The journal in SQLite: entries written in order and read back from a number, each with the answer to its command. The body and payload of an entry
// stand in tables of their own, which evolve.ts writes.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { EntryOrigin, Journal, JournalEntry, RecordedAnswer, VoidEntry } from '../core/journal.ts'
import type { Outcome } from '../core/verdict.ts'
import { recordedDigest } from './call-digest.ts'
import { type Database, isSqliteError, type Row, readRow, type Statement } from './database.ts'
import { withoutNulls } from './tables.ts'
import type { EntryNumbers, EntryRange } from './visible.ts'

/** Entries whose stored text is searched at once for one type of fact. One entry may hold a thousand facts. */
const entriesPerScan = 256

/** Number of void entries, which every machine ignores, that are shown. */
const voidsShown = 3

const statements = {
  insert: 'INSERT INTO journal (seq, at, by, cause, rule, digest, facts, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  answered: `SELECT j.seq, j.rule, j.outcome, j.digest, m.body, m.kind FROM journal j LEFT JOIN messages m ON m.seq = j.seq
    WHERE j.cause = ? AND j.by = ?`,
  read: 'SELECT seq, at, by, cause, facts FROM journal WHERE seq > ? ORDER BY seq LIMIT (? + 0)',
  replay: `SELECT j.seq, j.at, j.by, j.cause, j.facts, o.machine, o.mark FROM journal j LEFT JOIN origins o ON o.seq = j.seq
    WHERE j.seq > ? ORDER BY j.seq LIMIT (? + 0)`,
  at: 'SELECT seq, at, by, cause, facts FROM journal WHERE seq = ?',
  // An entry's body is that of its message, or stands in `bodies`: never both.
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

/** The journal for reading, as everybody but the store sees it. */
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

  /** Sets the number of the last entry back after a rollback: the entries above it are gone. */
  rewind(seq: number): void {
    this.#lastSeq = seq
  }

  /**
   * Writes the entry's own row. Returns false if the entry's command has an entry already, which the unique index on (cause, by) tells: asking first would
   * cost every command a read.
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

  /** The cluster's mark of the last entry. Undefined if the entry did not come from a cluster. */
  get lastMark(): string | undefined {
    return this.originOf(this.#lastSeq)?.mark
  }

  /** Returns the origin of an entry: its machine and mark. Undefined if the entry did not come from a cluster. */
  originOf(seq: number): EntryOrigin | undefined {
    const [machine, mark, voidFor] = (this.#sql.originOf.get(seq) ?? []) as (string | null)[]
    return machine == null || mark == null ? undefined : { machine, mark, ...(voidFor == null ? {} : { voidFor }) }
  }

  /** Returns void entries, which every machine ignores, newest first, with the machine that appended each and the reason. */
  voidEntries(limit = voidsShown): VoidEntry[] {
    return this.#sql.voids.all(limit).map(([seq, machine, why]) => ({ seq, machine, why }) as VoidEntry)
  }

  /** Gives the entries an origin after they were copied into a cluster; `mark` is the prefix of the marks that the cluster has given them. */
  setOrigins(machine: string, mark: string, through: number): void {
    this.removeOrigins()
    this.#sql.adopt.run(machine, mark, through)
  }

  /** Removes the origins of all entries, after the workspace has left its cluster. */
  removeOrigins(): void {
    this.#sql.disown.run()
  }

  /** Stores the payload of an entry that another machine has appended. */
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

  // The methods below read entries without rule, answer and body, which costs much less, for callers that look for facts.

  /** Reads entries for a replay of the journal, each with its origin. */
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
   * Yields the numbers of the entries in the range that may hold a fact of these types (`run.*` is a family), in order, and undefined where the caller may
   * pause. The stored text is searched without parsing it: words that look like a type are found too, but no type is missed.
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

/** Returns the text with which a fact of this type is stored. */
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

/** Returns the digest of an entry's call, made from its message if the entry keeps none; undefined if it is unknown. `asked`: digest, body and kind. */
export function digestOfEntry({ to }: Outcome, [digest, body, kind]: Row): string | undefined {
  if (digest === null) return undefined
  return recordedDigest(digest as string, { to, body: body as string, kind: kind as string })
}
