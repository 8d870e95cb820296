// Copies a database with SQLite's `VACUUM INTO` while others write to it: the copy has the state after one commit. daemon/backup-file.ts packs the copies into
// a backup.

import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { damagedFileRefusal } from './damage.ts'
import { Database } from './database.ts'
import { makeShrinkable } from './free-pages.ts'
import { busyTimeoutMs, checkIntegrity } from './integrity.ts'
import { runInThread } from './thread.ts'

/** SQLite's default for `wal_autocheckpoint`: a commit that finds more pages in the write-ahead log copies them into the database. */
const checkpointPages = 1_000
/** Maximum number of attempts to empty the write-ahead log. Others write to it during each attempt, which takes less time than the one before. */
const checkpointsMax = 8

/**
 * Copies a database into a new file that only its owner can read. Throws if the file exists, or if the copy is damaged, which is then deleted. The copy is not
 * synced, since a sync of hundreds of megabytes would delay every commit: a caller that keeps the copy syncs it.
 */
export function copyDatabase(from: string, to: string): void {
  writeFileSync(to, '', { mode: 0o600, flag: 'wx' })
  try {
    chmodSync(to, 0o600)
    const database = new Database(from)
    try {
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
      database.exec('PRAGMA synchronous = OFF')
      makeShrinkable(database)
      database.prepare('VACUUM INTO ?').run(to)
      // From here on writes are synced again: `putLogAway` writes to the original database.
      database.exec('PRAGMA synchronous = FULL')
      putLogAway(database)
    } finally {
      database.close()
    }
    const found = checkIntegrity(to)
    if (found !== 'ok') throw damagedFileRefusal(from, found)
  } catch (error) {
    removeCopy(to)
    throw error
  }
}

/** Deletes an unused or unfinished copy, with the journal file that SQLite writes beside it. */
export function removeCopy(path: string): void {
  for (const each of [path, `${path}-journal`]) rmSync(each, { force: true })
}

/** Copies the write-ahead log into the database, which SQLite could not do while the copy was made. Writers need not wait for it. */
function putLogAway(database: Database): void {
  for (let tries = 0; tries < checkpointsMax; tries++) {
    const [, pages, done] = (database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? []).map(Number)
    if (Number(pages) - Number(done) < checkpointPages / 4) return
  }
}

/**
 * Copies, in a thread, a database that this process writes to. Automatic checkpoints are off meanwhile: the first commit after a long copy would have to copy a
 * long write-ahead log into the database, and everybody would wait for it.
 */
export async function copyWhileWritten(database: Database, to: string): Promise<void> {
  database.exec('PRAGMA wal_autocheckpoint = 0')
  try {
    await copyInThread(database.path, to)
  } finally {
    // The database may have been closed while the copy was made.
    if (database.isOpen) database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  }
}

/** Copies a database in a thread. */
export function copyInThread(from: string, to: string): Promise<void> {
  return runInThread('snapshot-thread', { from, to })
}
