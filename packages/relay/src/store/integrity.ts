// Checks that a database file and its write-ahead log are undamaged, without opening the file as a workspace: nothing is migrated or loaded.

import { readFileSync } from 'node:fs'
import { Database } from './database.ts'
import { versionFault } from './migrating.ts'

/** How long a check waits for a lock of the process that has the file open, in ms. */
export const busyTimeoutMs = 5_000

/** Returns `ok`, or what is wrong with the file. A daemon may have the file open. */
export function checkIntegrity(path: string): string {
  let database: Database | undefined
  try {
    database = new Database(path)
    // A daemon that stops releases its lock before it removes the write-ahead log. The timeout bridges that moment, which is no damage.
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    const found = String(database.prepare('PRAGMA integrity_check(1)').get()?.[0])
    return found === 'ok' ? (versionFault(database) ?? found) : found
  } catch (error) {
    return (error as Error).message
  } finally {
    database?.close()
  }
}

/** Whether no part of a file is missing. The file is a database or its write-ahead log, and is read to its end. */
export function isFileWhole(path: string): boolean {
  return path.endsWith('-wal') ? hasEveryFrame(path) : checkIntegrity(path) === 'ok'
}

const [logHeader, frameHeader] = [32, 24]

/** Whether every frame of a write-ahead log was written. Each frame begins with the number of its page, and 0, as in a hole of the file, is no page. */
function hasEveryFrame(path: string): boolean {
  const log = readFileSync(path)
  const step = frameHeader + log.readUInt32BE(8)
  for (let at = logHeader; at + step <= log.length; at += step) if (log.readUInt32BE(at) === 0) return false
  return true
}
