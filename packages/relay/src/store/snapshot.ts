// Copies a database as of one commit, with SQLite's `VACUUM INTO`, while others write to the database. daemon/backup-file.ts packs the copies.

import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { damagedFileRefusal } from './damage.ts'
import { Database } from './database.ts'
import { makeShrinkable } from './free-pages.ts'
import { busyTimeoutMs, checkSoundness } from './soundness.ts'
import { runInThread } from './thread.ts'

/** SQLite's default for the pages of a log: the next commit copies a longer log into the database. */
const checkpointPages = 1_000
/** The most attempts to empty the log: writers fill the log during each attempt, each time with less. */
const checkpointsMax = 8

/**
 * Copies a database into a new file that its owner alone can read. Throws if the file exists already, or if the copy is not whole, which is then
 * removed. The copy is not synced: hundreds of megabytes at once would keep every commit waiting. A caller that keeps the copy syncs it.
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
      // `putLogAway` writes to the database itself, so its writes are synced again.
      database.exec('PRAGMA synchronous = FULL')
      putLogAway(database)
    } finally {
      database.close()
    }
    const found = checkSoundness(to)
    if (found !== 'ok') throw damagedFileRefusal(from, found)
  } catch (error) {
    removeCopy(to)
    throw error
  }
}

/** Removes a copy that nobody needs, or that was cut off, with the journal that SQLite writes beside it. */
export function removeCopy(path: string): void {
  for (const each of [path, `${path}-journal`]) rmSync(each, { force: true })
}

/** Copies the log into the database, which was not possible while the database was read for the copy. No writer waits for this. */
function putLogAway(database: Database): void {
  for (let tries = 0; tries < checkpointsMax; tries++) {
    const [, pages, done] = (database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? []).map(Number)
    if (Number(pages) - Number(done) < checkpointPages / 4) return
  }
}

/**
 * Copies, in a thread, a database that this process writes to. Until the copy is made, commits of this process do not copy the log into the database: the
 * first commit after a long copy would keep everybody waiting.
 */
export async function copyWhileWritten(database: Database, to: string): Promise<void> {
  database.exec('PRAGMA wal_autocheckpoint = 0')
  try {
    await copyInThread(database.path, to)
  } finally {
    // The database may have been closed during the copy.
    if (database.isOpen) database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  }
}

/** Copies a database in a thread. */
export function copyInThread(from: string, to: string): Promise<void> {
  return runInThread('snapshot-thread', { from, to })
}
