// A copy of a database that is whole as of one commit, made by SQLite's `VACUUM INTO` while others write to it. What a copy is packed into:
// daemon/backup-file.ts.

import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import { damaged } from './damage.ts'
import { Database } from './database.ts'
import { busyMs, soundnessOf } from './soundness.ts'

/** SQLite's own number: a log of more pages is copied into the database by the next commit. */
const checkpointPages = 1_000
/** Writers fill the log meanwhile, each time with less. */
const checkpointsMax = 8

/**
 * Made for its owner alone. Throws where there is such a file already, and where the copy is not whole: then none is left. Nothing of it is
 * synced: hundreds of megabytes at once would keep every commit waiting. Whoever keeps the copy syncs it.
 */
export function copyDatabase(from: string, to: string): void {
  writeFileSync(to, '', { mode: 0o600, flag: 'wx' })
  try {
    chmodSync(to, 0o600)
    const database = new Database(from)
    try {
      database.exec(`PRAGMA busy_timeout = ${busyMs}`)
      database.exec('PRAGMA synchronous = OFF')
      database.prepare('VACUUM INTO ?').run(to)
      // From here on the database itself is written to.
      database.exec('PRAGMA synchronous = FULL')
      putLogAway(database)
    } finally {
      database.close()
    }
    const found = soundnessOf(to)
    if (found !== 'ok') throw damaged(from, found)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}

/** While the copy was read, no page of the log could be put away. Here no writer waits for that. */
function putLogAway(database: Database): void {
  for (let tries = 0; tries < checkpointsMax; tries++) {
    const [, pages, done] = (database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? []).map(Number)
    if (Number(pages) - Number(done) < checkpointPages / 4) return
  }
}

/**
 * The same in a thread, for a database that this process writes to. Until the copy is made its own commits put no log away: the first one
 * after a long copy would keep everybody waiting.
 */
export async function copyWhileWritten(database: Database, to: string): Promise<void> {
  database.exec('PRAGMA wal_autocheckpoint = 0')
  try {
    await copyInThread(database.path, to)
  } finally {
    // It may have been closed meanwhile.
    if (database.isOpen) database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  }
}

/** The thread is loaded from the package's own `dist`, also where this file is read as TypeScript: a thread loads JavaScript alone. */
export function copyInThread(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('../../dist/store/snapshot-thread.js', import.meta.url), {
      workerData: { from, to },
      execArgv: [],
    })
    thread.once('message', (refused?: Refusal) => (refused ? reject(new RefusalError(refused)) : resolve()))
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread that copied the database has ended')))
    thread.unref()
  })
}
