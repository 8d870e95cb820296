// The lock of a data directory: its daemon holds an exclusive transaction on a small database. It is not a pid file: both close and kill -9 free this lock,
// so it can never be stale.

import { Database, isSqliteError } from './database.ts'

export class DaemonLock {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /** Takes the lock; undefined if another process holds it. No statement is ever prepared on this connection, so closing it frees the lock at once. */
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
