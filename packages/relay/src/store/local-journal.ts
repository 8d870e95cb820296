// The local journal: entries that one machine decides by itself in a workspace that several machines share, such as deliveries to its own agents. No other
// machine has them. Each entry names the entry of the shared journal that it follows, so that the tables can be rebuilt from both journals.

import type { EntryDraft, RecordedAnswer } from '../core/journal.ts'
import { type Database, isSqliteError, pagesOf, type Row, type Statement } from './database.ts'

/** An entry of the local journal. Its number is independent of the numbers of the shared journal. */
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

  /** Empties the local journal, after its entries were added to the workspace's own journal. */
  clear(): void {
    this.#sql.empty.run()
    this.#lastSeq = 0
  }

  /** Inserts an entry of another copy of this machine's local journal, under the number that it had there. */
  copyEntry({ seq, at, by, cause, rule, digest, facts, outcome }: LocalEntry, afterSeq: number): void {
    const texts = [rule, digest ?? null, JSON.stringify(facts), JSON.stringify(outcome)]
    this.#sql.insert.run(seq, afterSeq, at, by, cause, ...texts)
    this.#lastSeq = seq
  }

  /** Sets the number of the last entry back after a rollback, which has removed the entries above it. */
  rewind(seq: number): void {
    this.#lastSeq = seq
  }

  /**
   * Inserts an entry; undefined if its command has one already. The entry's number is its time in ms, or one above the last number. So even after the file was
   * lost or cut, new numbers lie above all those that this machine has reported to other machines.
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

  /** Yields the entries after a number, oldest first. They are read a page at a time, while the caller iterates. */
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
