// The lock of a data directory: the daemon keeps an exclusive transaction open on a small database. Unlike a pid file, it cannot become stale: the system
// releases it when the process ends, even by kill -9.

import { Database, isSqliteError } from './database.ts'

export class DaemonLock {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /**
   * Takes the lock; undefined if another process has it. No statement is prepared on this connection: the SQLite driver for older versions of Node would keep
   * the file open after closing, until the statement was garbage-collected.
   */
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
