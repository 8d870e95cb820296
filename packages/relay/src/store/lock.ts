// Who the daemon of a data directory is: the holder of an exclusive transaction on a small lock database. Never a pid file:
// this lock is freed by close and by kill -9 alike, and nobody can mistake a stale one for a live one.

import { Database, isSqliteError } from './database.ts'

export class DaemonLock {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /** Undefined where another process holds it. No statement is ever prepared on this connection, so closing it frees it at once. */
  static acquire(path: string): DaemonLock | undefined {
    const database = new Database(path)
    try {
      database.exec('PRAGMA busy_timeout = 0')
      database.exec('BEGIN EXCLUSIVE')
      return new DaemonLock(database)
    } catch (error) {
      database.close()
      if (isSqliteError(error, 'busy')) return undefined
      throw error
    }
  }

  release(): void {
    this.#database.close()
  }
}
