// Databases in memory that outlive a seed. Making the tables and preparing the statements would be half of the time of a seed, with the same
// result every time: so a database is lent, given back, and lent again without its rows.

import { Database, type Row, type SqlValue, type Statement } from '../../../packages/relay/src/store/database.ts'

const free: KeptDatabase[] = []

export function lend(): KeptDatabase {
  const database = free.pop() ?? new KeptDatabase()
  database.empty()
  return database
}

export function giveBack(database: KeptDatabase): void {
  database.close()
  free.push(database)
}

/** One connection, opened by one process after the other. Closing it only ends what the present one may do with it. */
export class KeptDatabase extends Database {
  readonly #statements = new Map<string, Statement>()
  /** How many have opened it. */
  #openings = 0
  #isLent = false

  constructor() {
    super(':memory:')
  }

  /** For a process that starts. The one before it must have ended. */
  open(): this {
    if (this.#isLent) throw new Error('two processes have the same database open')
    this.#isLent = true
    this.#openings++
    return this
  }

  override close(): void {
    this.#isLent = false
  }

  override prepare(sql: string): Statement {
    const opening = this.#openings
    return new LentStatement(this.#kept(sql), () => {
      if (!this.#isLent || opening !== this.#openings) throw new Error('database is not open')
    })
  }

  #kept(sql: string): Statement {
    const kept = this.#statements.get(sql) ?? super.prepare(sql)
    this.#statements.set(sql, kept)
    return kept
  }

  /** Takes out all rows; the tables stay. */
  empty(): void {
    const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    const rows = this.#kept(tables)
      .all()
      .map(([table]) => this.#kept(`DELETE FROM ${table}`))
    this.transact(() => {
      for (const each of rows) each.run()
    })
  }
}

/** Fails after its process has ended, as it would with a database of its own. */
class LentStatement implements Statement {
  readonly #kept: Statement
  readonly #mustBeOpen: () => void

  constructor(kept: Statement, mustBeOpen: () => void) {
    this.#kept = kept
    this.#mustBeOpen = mustBeOpen
  }

  run(...values: SqlValue[]): void {
    this.#mustBeOpen()
    this.#kept.run(...values)
  }

  get(...values: SqlValue[]): Row | undefined {
    this.#mustBeOpen()
    return this.#kept.get(...values)
  }

  all(...values: SqlValue[]): Row[] {
    this.#mustBeOpen()
    return this.#kept.all(...values)
  }
}
