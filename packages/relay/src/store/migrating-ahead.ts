// Migrates a large database of an older version in a thread, before it is opened. That takes seconds for millions of messages, and the daemon serves the other
// workspaces meanwhile.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { largeBytes } from './migrating.ts'
import { migrationSteps } from './migrations.ts'
import { runInThread } from './thread.ts'

/**
 * Offset and length in bytes of `user_version`, the schema's version, in an SQLite file. If the write-ahead log has a newer version, the migration finds
 * nothing to do.
 */
const [versionAt, versionBytes] = [60, 4]

let last: Promise<unknown> = Promise.resolve()

/**
 * Migrates the file in a thread if it is large and of an older version, one file at a time. Small files are left to the migration at their opening, and unknown
 * versions to its refusal.
 */
export async function migrateAhead(path: string): Promise<void> {
  if (!isLargeAndOld(path)) return
  const migrated = last.then(() => runInThread('migrating-thread', { path }))
  last = migrated.catch(() => {})
  await migrated
}

function isLargeAndOld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found?.isFile() || found.size < largeBytes) return false
  const version = Buffer.alloc(versionBytes)
  const file = openSync(path, 'r')
  try {
    readSync(file, version, 0, versionBytes, versionAt)
  } finally {
    closeSync(file)
  }
  return version.readUInt32BE() < migrationSteps.length
}
