// Migrates a large database of an older version in a thread, before it is opened. That takes seconds for millions of messages, and the daemon serves the other
// workspaces meanwhile.

import { statSync } from 'node:fs'
import { readFileHeader } from './file-header.ts'
import { largeBytes } from './migrating.ts'
import { migrationSteps } from './migrations.ts'
import { runInThread } from './thread.ts'

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

/** If the write-ahead log has a newer version than the file, the migration finds nothing to do. */
export function isLargeAndOld(path: string): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const header = size < largeBytes ? undefined : readFileHeader(path)
  return header !== undefined && header.version < migrationSteps.length
}
