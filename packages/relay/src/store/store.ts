// One workspace's database as a whole: opening, the transaction every change goes through, and rebuilding what the journal tells.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { Outcome } from '../core/verdict.ts'
import { Database, type Statement } from './database.ts'
import { type Belongings, Evolve } from './evolve.ts'
import { History } from './history.ts'
import { SqliteJournal } from './journal.ts'
import { beginWith } from './migrations.ts'
import { Queries } from './queries.ts'
import { Tables } from './tables.ts'
import { SqliteView } from './view.ts'

const rebuildChunk = 1_000

export class Store {
  readonly view: SqliteView
  readonly journal: SqliteJournal
  readonly queries: Queries
  readonly history: History
  readonly #database: Database
  readonly #tables: Tables
  readonly #evolve: Evolve
  readonly #meta: Statement

  constructor(path: string) {
    this.#database = new Database(path)
    const { tables, journal } = beginWith(this.#database, (database) => ({
      tables: new Tables(database),
      journal: new SqliteJournal(database),
    }))
    this.#tables = tables
    this.journal = journal
    this.view = new SqliteView(this.#database, this.#tables)
    this.queries = new Queries(this.#database, this.#tables, this.view)
    this.history = new History(this.#database, this.#tables, this.view, this.queries)
    this.#evolve = new Evolve(this.#database, this.#tables)
    this.#meta = this.#database.prepare('SELECT value FROM meta WHERE name = ?')
  }

  get database(): Database {
    return this.#database
  }

  /** All of it or nothing; after a rollback the mirrors in memory follow the tables again. */
  transact<T>(work: () => T extends Promise<unknown> ? never : T): T {
    try {
      return this.#database.transact(work)
    } catch (error) {
      this.#tables.reload()
      this.journal.reload()
      throw error
    }
  }

  /** Entry and rows together; must run inside `transact`. */
  append(entry: Omit<Entry, 'seq'>, rule: string, outcome: Outcome, belongings: Belongings = {}): Entry {
    const appended = this.journal.append(entry, rule, outcome)
    this.#evolve.apply(appended, belongings)
    return appended
  }

  /** Empties every table that the journal tells, and lets the journal tell it again. */
  rebuild(): void {
    this.#tables.isReplaying = true
    this.transact(() => {
      this.#evolve.forgetAll()
      for (let since = 0; ; ) {
        const entries = this.journal.read(since, rebuildChunk)
        for (const entry of entries) this.#evolve.apply(entry, {})
        if (entries.length < rebuildChunk) return
        since = entries[entries.length - 1]?.seq as number
      }
    })
    this.#tables.isReplaying = false
  }

  /** The workspace's own id, and the hash of its key. */
  meta(name: 'id' | 'key'): string | undefined {
    return this.#meta.get(name)?.[0] as string | undefined
  }

  isSound(): boolean {
    return this.#database.prepare('PRAGMA integrity_check').get()?.[0] === 'ok'
  }

  close(): void {
    this.#database.close()
  }
}
