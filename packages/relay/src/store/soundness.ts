// Checks that a database file and its log are whole, from outside: without migrating the file or reading its tables into memory.

import { readFileSync } from 'node:fs'
import { Database } from './database.ts'
import { versionFault } from './migrating.ts'

/** How long a check from outside waits for the process that has the file open. */
export const busyTimeoutMs = 5_000

/** Returns `ok`, or what is wrong with the file. A daemon may have the file open. */
export function checkSoundness(path: string): string {
  let database: Database | undefined
  try {
    database = new Database(path)
    // A daemon that ends removes the file's log after it has let go of its lock: a log that disappears is no damage.
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    const found = String(database.prepare('PRAGMA integrity_check(1)').get()?.[0])
    return found === 'ok' ? (versionFault(database) ?? found) : found
  } catch (error) {
    return (error as Error).message
  } finally {
    database?.close()
  }
}

/** Whether nothing is missing in the midst of a file, which is a database or the log of one. Reads the whole file. */
export function isFileWhole(path: string): boolean {
  return path.endsWith('-wal') ? hasEveryFrame(path) : checkSoundness(path) === 'ok'
}

const [logHeader, frameHeader] = [32, 24]

/** Whether every frame of a log was written: each frame begins with the number of its page, and pages count from 1. */
function hasEveryFrame(path: string): boolean {
  const log = readFileSync(path)
  const step = frameHeader + log.readUInt32BE(8)
  for (let at = logHeader; at + step <= log.length; at += step) if (log.readUInt32BE(at) === 0) return false
  return true
}
