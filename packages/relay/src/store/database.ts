// The SQLite driver, named here and nowhere else: `node:sqlite` from Node 24 on, else its stand-in, which has the same API.

import { createRequire } from 'node:module'
import type { DatabaseSync } from '@photostructure/sqlite'
import { RefusalError } from '../refusal-error.ts'
import { damaged } from './damage.ts'

export type Value = string | number | null | Uint8Array
export type Row = Value[]

const require = createRequire(import.meta.url)
const { DatabaseSync: Driver } = chooseDriver()

/** Node 22 has the module too, but at first without rows as arrays, and with a warning on stderr at every start. */
function chooseDriver(): { DatabaseSync: typeof DatabaseSync } {
  const major = Number(process.versions.node.split('.')[0])
  return require(major >= 24 ? 'node:sqlite' : '@photostructure/sqlite')
}

/** A prepared statement with positional parameters; rows come back as arrays, which is what makes a hot path cheap. */
export interface Statement {
  run(...values: Value[]): void
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

export class Database {
  readonly path: string
  readonly #driver: InstanceType<typeof DatabaseSync>

  constructor(path: string) {
    this.path = path
    this.#driver = new Driver(path)
  }

  exec(sql: string): void {
    try {
      this.#driver.exec(sql)
    } catch (error) {
      throw told(error, this.path)
    }
  }

  prepare(sql: string): Statement {
    try {
      const statement = this.#driver.prepare(sql)
      statement.setReturnArrays(true)
      return new TellingStatement(statement as unknown as Statement, this.path)
    } catch (error) {
      throw told(error, this.path)
    }
  }

  prepareAll<Name extends string>(statements: Record<Name, string>): Record<Name, Statement> {
    const entries = Object.entries<string>(statements).map(([name, sql]) => [name, this.prepare(sql)])
    return Object.fromEntries(entries) as Record<Name, Statement>
  }

  /** All or nothing; the error that broke it is thrown on. A function that answers a promise would commit too early: not allowed. */
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

  close(): void {
    this.#driver.close()
  }
}

/** The driver's own, whose failures name the file. Spelled out three times: a function for each call would cost a tenth of it. */
class TellingStatement implements Statement {
  readonly #statement: Statement
  readonly #path: string

  constructor(statement: Statement, path: string) {
    this.#statement = statement
    this.#path = path
  }

  run(...values: Value[]): void {
    try {
      this.#statement.run(...values)
    } catch (error) {
      throw told(error, this.#path)
    }
  }

  get(...values: Value[]): Row | undefined {
    try {
      return this.#statement.get(...values)
    } catch (error) {
      throw told(error, this.#path)
    }
  }

  all(...values: Value[]): Row[] {
    try {
      return this.#statement.all(...values)
    } catch (error) {
      throw told(error, this.#path)
    }
  }
}

/** Here and nowhere else a failure becomes a refusal: only here it is known which file it was. */
function told(error: unknown, path: string): unknown {
  if (isSqliteError(error, 'full')) return new RefusalError('store.full')
  if (isSqliteError(error, 'notADatabase') || isSqliteError(error, 'corrupt'))
    return damaged(path, (error as Error).message)
  return error
}

/** SQLite's primary codes and its own words for them: the stand-in tells no code where `all` fails. */
const failures = {
  busy: [5, /database is locked/],
  full: [13, /database or disk is full/],
  corrupt: [11, /malformed|corrupt/],
  notADatabase: [26, /file is not a database/],
  constraint: [19, /constraint/],
  ioError: [10, /disk I\/O error/],
} as const

export function isSqliteError(error: unknown, kind: keyof typeof failures): boolean {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown }
  const [primary, words] = failures[kind]
  if (typeof errcode === 'number') return (errcode & 0xff) === primary
  return code === 'ERR_SQLITE_ERROR' && words.test(String(message))
}
