// A wrapper around SQLite, and the only file that knows the driver: `node:sqlite` from Node 24 on, else a replacement with the same API.

import { createRequire } from 'node:module'
import type { DatabaseSync } from '@photostructure/sqlite'
import { RefusalError } from '../core/refusal-error.ts'
import { collectGarbage } from '../machine/idle-memory.ts'
import { damagedFileRefusal } from './damage.ts'

export type SqlValue = string | number | null | Uint8Array
export type Row = SqlValue[]

const require = createRequire(import.meta.url)
const { DatabaseSync: Driver } = chooseDriver()

/** Whether to use Node's own SQLite driver. Node 22 has it too, but its first versions cannot return rows as arrays, and print a warning at every start. */
function hasOwnDriver(): boolean {
  return Number(process.versions.node.split('.')[0]) >= 24
}

function chooseDriver(): { DatabaseSync: typeof DatabaseSync } {
  return require(hasOwnDriver() ? 'node:sqlite' : '@photostructure/sqlite')
}

/**
 * Frees the files of closed databases, by a garbage collection. The SQLite driver for older versions of Node keeps a file open until all its prepared
 * statements were collected, which may never happen in an idle daemon. This takes about 10 ms, so call it only now and then.
 */
export async function freeClosedFiles(): Promise<void> {
  if (!hasOwnDriver()) await collectGarbage()
}

/** A prepared statement with positional parameters. Rows are arrays, since objects would slow down the statements that run for every message. */
export interface Statement {
  run(...values: SqlValue[]): void
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
}

/** Reads what a row says, if there is one. */
export function readRow<T>(row: Row | undefined, read: (row: Row) => T): T | undefined {
  return row && read(row)
}

/** Reads a long list page by page, each page after the last row of the one before, until a page is not full. */
export function* pagesOf<R>(pageRows: number, read: (last: R | undefined) => R[]): Generator<R[], void, void> {
  for (let last: R | undefined; ; ) {
    const rows = read(last)
    yield rows
    if (rows.length < pageRows) return
    last = rows.at(-1)
  }
}

export class Database {
  readonly path: string
  readonly #driver: InstanceType<typeof DatabaseSync>

  constructor(path: string) {
    this.path = path
    this.#driver = new Driver(path)
    // The file may come from somebody else, so its triggers and views must not call the SQL functions that we register.
    this.#driver.exec('PRAGMA trusted_schema = OFF')
  }

  exec(sql: string): void {
    try {
      this.#driver.exec(sql)
    } catch (error) {
      throw withRefusal(error, this.path)
    }
  }

  prepare(sql: string): Statement {
    try {
      const statement = this.#driver.prepare(sql)
      statement.setReturnArrays(true)
      return new PathNamingStatement(statement as unknown as Statement, this.path)
    } catch (error) {
      throw withRefusal(error, this.path)
    }
  }

  prepareAll<Name extends string>(statements: Record<Name, string>): Record<Name, Statement> {
    const entries = Object.entries<string>(statements).map(([name, sql]) => [name, this.prepare(sql)])
    return Object.fromEntries(entries) as Record<Name, Statement>
  }

  /**
   * Returns statements that are each prepared at their first use. Many workspaces never need them, and prepared statements take memory in each open workspace.
   */
  prepareWhenUsed<Name extends string>(statements: Record<Name, string>): Record<Name, Statement> {
    const entries = Object.entries<string>(statements).map(([name, sql]) => [name, new LazyStatement(this, sql)])
    return Object.fromEntries(entries) as Record<Name, Statement>
  }

  /**
   * Runs `work` in a transaction. If `work` throws, the transaction is rolled back, and the error is thrown again. `work` must not return a promise, since the
   * commit would not wait for it.
   */
  transact<T>(work: () => T extends Promise<unknown> ? never : T): T {
    this.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#driver.isTransaction) this.exec('ROLLBACK')
      throw error
    }
  }

  get isOpen(): boolean {
    return this.#driver.isOpen
  }

  close(): void {
    this.#driver.close()
  }
}

/**
 * Wraps the driver's statement, so that errors name the database file. Its three methods repeat the same code: one more function call each would take a tenth
 * of their time.
 */
class PathNamingStatement implements Statement {
  readonly #statement: Statement
  readonly #path: string

  constructor(statement: Statement, path: string) {
    this.#statement = statement
    this.#path = path
  }

  run(...values: SqlValue[]): void {
    try {
      this.#statement.run(...values)
    } catch (error) {
      throw withRefusal(error, this.#path)
    }
  }

  get(...values: SqlValue[]): Row | undefined {
    try {
      return this.#statement.get(...values)
    } catch (error) {
      throw withRefusal(error, this.#path)
    }
  }

  all(...values: SqlValue[]): Row[] {
    try {
      return this.#statement.all(...values)
    } catch (error) {
      throw withRefusal(error, this.#path)
    }
  }
}

/** Returns the first row of `SELECT columns FROM rest`; undefined if there is no row or no such table. */
export type ReadFirstRow = (columns: string, rest: string) => Row | undefined

/**
 * Reads a database file without changing it or its write-ahead log: a connection that may write would remove the log when it closes. Rows are returned through
 * an SQL function: the driver for older versions of Node keeps a file open until its prepared statements were garbage-collected.
 */
export function readDatabaseFile<T>(path: string, work: (first: ReadFirstRow) => T): T {
  let row: Row | undefined
  const driver = new Driver(path, { readOnly: true })
  try {
    driver.exec('PRAGMA trusted_schema = OFF; PRAGMA busy_timeout = 2000')
    driver.function('told', { varargs: true }, (...values: Row) => {
      row = values
      return null
    })
    return work((columns, rest) => {
      row = undefined
      try {
        driver.exec(`SELECT told(${columns}) FROM ${rest}`)
      } catch (error) {
        if (!/no such table/.test((error as Error).message)) throw error
      }
      return row
    })
  } catch (error) {
    throw withRefusal(error, path)
  } finally {
    driver.close()
  }
}

class LazyStatement implements Statement {
  readonly #database: Database
  readonly #sql: string
  #prepared: Statement | undefined

  constructor(database: Database, sql: string) {
    this.#database = database
    this.#sql = sql
  }

  run(...values: SqlValue[]): void {
    this.#statement.run(...values)
  }

  get(...values: SqlValue[]): Row | undefined {
    return this.#statement.get(...values)
  }

  all(...values: SqlValue[]): Row[] {
    return this.#statement.all(...values)
  }

  get #statement(): Statement {
    this.#prepared ??= this.#database.prepare(this.#sql)
    return this.#prepared
  }
}

/** Turns an SQLite error into a refusal if it means a full disk or a damaged file. Done only here, where the file's path is known. */
function withRefusal(error: unknown, path: string): unknown {
  if (isSqliteError(error, 'full') || isIndexFull(error)) return new RefusalError('store.full')
  if (isSqliteError(error, 'notADatabase') || isSqliteError(error, 'corrupt'))
    return damagedFileRefusal(path, (error as Error).message)
  return error
}

/** SQLite's primary error codes, each with a pattern of its message: the driver for older versions of Node gives no code if `all` fails. */
const failures = {
  busy: [5, /database is locked/],
  full: [13, /database or disk is full/],
  corrupt: [11, /malformed|corrupt/],
  notADatabase: [26, /file is not a database/],
  constraint: [19, /constraint/],
  ioError: [10, /disk I\/O error/],
} as const

/**
 * The error code SQLITE_IOERR_SHMSIZE: the disk has no room for the `-shm` file beside the write-ahead log. Nothing was written, so it counts as a full disk.
 */
const shmSize = 4_874

function isIndexFull(error: unknown): boolean {
  return (error as { errcode?: unknown } | undefined)?.errcode === shmSize
}

/** Whether the error comes from SQLite itself. */
export function isSqliteFailure(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return typeof errcode === 'number' || code === 'ERR_SQLITE_ERROR'
}

export function isSqliteError(error: unknown, kind: keyof typeof failures): boolean {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown }
  const [primary, words] = failures[kind]
  if (typeof errcode === 'number') return (errcode & 0xff) === primary
  return code === 'ERR_SQLITE_ERROR' && words.test(String(message))
}
