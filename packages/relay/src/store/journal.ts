// The journal: entries appended in order and read back from a number. It is also the record of which command was answered how.

import type { Entry, Fact } from '@agent-relay/sdk/protocol'
import type { Outcome } from '../core/verdict.ts'
import type { Database, Statement } from './database.ts'

export interface Answered {
  seq: number
  /** What was asked then: an id that comes again with something else is a mistake of its sender. */
  rule: string
  outcome: Outcome
}

/** SQLite today; a shared database later, when several daemons serve one workspace. Nothing outside may know which. */
export interface Journal {
  readonly lastSeq: number
  append(entry: Omit<Entry, 'seq'>, rule: string, outcome: Outcome): Entry
  /** How a command was answered before: the sender did not hear, and asks again. */
  answered(by: string, cause: string): Answered | undefined
  /** Entries after a number, oldest first. */
  read(since: number, limit: number): Entry[]
}

export class SqliteJournal implements Journal {
  readonly #insert: Statement
  readonly #answered: Statement
  readonly #read: Statement
  readonly #last: Statement
  lastSeq = 0

  constructor(database: Database) {
    this.#insert = database.prepare(
      'INSERT INTO journal (seq, at, by, cause, rule, facts, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    this.#answered = database.prepare('SELECT seq, rule, outcome FROM journal WHERE cause = ? AND by = ?')
    this.#read = database.prepare(
      'SELECT seq, at, by, cause, facts FROM journal WHERE seq > ? ORDER BY seq LIMIT (? + 0)',
    )
    this.#last = database.prepare('SELECT max(seq) FROM journal')
    this.reload()
  }

  /** After a rollback the counter may be ahead of the table. */
  reload(): void {
    this.lastSeq = Number(this.#last.get()?.[0] ?? 0)
  }

  append({ at, by, cause, facts }: Omit<Entry, 'seq'>, rule: string, outcome: Outcome): Entry {
    const seq = this.lastSeq + 1
    this.#insert.run(seq, at, by, cause, rule, JSON.stringify(facts), JSON.stringify(outcome))
    this.lastSeq = seq
    return { seq, at, by, cause, facts }
  }

  answered(by: string, cause: string): Answered | undefined {
    const row = this.#answered.get(cause, by)
    return row && { seq: row[0] as number, rule: row[1] as string, outcome: JSON.parse(row[2] as string) }
  }

  read(since: number, limit: number): Entry[] {
    return this.#read.all(since, limit).map(([seq, at, by, cause, facts]) => ({
      seq: seq as number,
      at: at as number,
      by: by as string,
      cause: cause as string,
      facts: JSON.parse(facts as string) as Fact[],
    }))
  }
}
