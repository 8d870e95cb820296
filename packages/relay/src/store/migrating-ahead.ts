// Brings a large database of an older version to this one before it is opened, in a thread: that takes seconds where there are millions of messages, and
// the other workspaces are served meanwhile.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { largeBytes } from './migrating.ts'
import { migrationSteps } from './migrations.ts'
import { runInThread } from './thread.ts'

/** Where SQLite keeps `user_version` in a file. The log may have a newer one: then there is nothing left to do. */
const [versionAt, versionBytes] = [60, 4]

let last: Promise<unknown> = Promise.resolve()

/** Returns once the file is of this version, or small, or of no version that is known: whoever opens it deals with that. One file at a time. */
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
