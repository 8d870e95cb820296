// The journal of what one machine has decided by itself in a workspace that several machines share: entries of its own, in order, which no other machine
// has. Each entry names the entry of the shared journal that it follows, so that the rows can be made again from both journals.

import type { EntryDraft, RecordedAnswer } from '../core/journal.ts'
import { type Database, isSqliteError, pagesOf, type Row, type Statement } from './database.ts'

/** An entry of the local journal; its number has nothing to do with the numbers of the shared journal. */
export type LocalEntry = EntryDraft & { seq: number; afterSeq: number }

const statements = {
  insert:
    'INSERT INTO local_journal (seq, after_seq, at, by, cause, rule, digest, facts, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  answered: 'SELECT seq, rule, digest, outcome FROM local_journal WHERE cause = ? AND by = ?',
  read: `SELECT seq, after_seq, at, by, cause, rule, digest, facts, outcome FROM local_journal WHERE seq > ? ORDER BY seq LIMIT (? + 0)`,
  last: 'SELECT max(seq) FROM local_journal',
  empty: 'DELETE FROM local_journal',
}

const entriesPerRead = 1_000

export class LocalJournal {
  readonly #sql: Record<keyof typeof statements, Statement>
  #lastSeq: number

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
    this.#lastSeq = Number(this.#sql.last.get()?.[0] ?? 0)
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Empties the local journal, once all of its entries stand in the journal of the workspace. */
  clear(): void {
    this.#sql.empty.run()
    this.#lastSeq = 0
  }

  /** Stores an entry of another copy of this journal, with the number that the entry had in that copy. */
  copyEntry({ seq, at, by, cause, rule, digest, facts, outcome }: LocalEntry, afterSeq: number): void {
    const texts = [rule, digest ?? null, JSON.stringify(facts), JSON.stringify(outcome)]
    this.#sql.insert.run(seq, afterSeq, at, by, cause, ...texts)
    this.#lastSeq = seq
  }

  /** Sets the number of the last entry back after a rollback: the entries above it are gone. */
  rewind(seq: number): void {
    this.#lastSeq = seq
  }

  /**
   * Writes an entry. Undefined if the entry's command has one already. The number is the time, or one above the last: should this file be lost or cut and
   * the machine go on, its new numbers must lie above those that it has told other machines before.
   */
  write(draft: EntryDraft, afterSeq: number): LocalEntry | undefined {
    const { at, by, cause, rule, digest, facts, outcome } = draft
    const seq = Math.max(at, this.#lastSeq) + 1
    const texts = [rule, digest ?? null, JSON.stringify(facts), JSON.stringify(outcome)]
    try {
      this.#sql.insert.run(seq, afterSeq, at, by, cause, ...texts)
    } catch (error) {
      if (isSqliteError(error, 'constraint') && this.recordedAnswer(by, cause)) return undefined
      throw error
    }
    this.#lastSeq = seq
    return { ...draft, seq, afterSeq }
  }

  recordedAnswer(by: string, cause: string): (RecordedAnswer & { seq: number }) | undefined {
    const row = this.#sql.answered.get(cause, by)
    if (!row) return undefined
    const [seq, rule, digest, outcome] = row as [number, string, string | null, string]
    return { seq, rule, digest: digest ?? undefined, outcome: JSON.parse(outcome) }
  }

  /** Yields the entries after a number, oldest first, read in pages as the caller asks for them. */
  *entriesAfter(seq: number): Generator<LocalEntry, undefined> {
    const read = (last?: Row) => this.#sql.read.all(last?.[0] ?? seq, entriesPerRead)
    for (const rows of pagesOf(entriesPerRead, read)) yield* rows.map(entryOf)
  }
}

function entryOf(row: Row): LocalEntry {
  const [seq, afterSeq, at, by, cause, rule, digest, facts, outcome] = row
  const texts = { facts: JSON.parse(facts as string), outcome: JSON.parse(outcome as string) }
  return { seq, afterSeq, at, by, cause, rule, digest: digest ?? undefined, ...texts } as LocalEntry
}
