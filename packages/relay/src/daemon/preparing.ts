// The work on a database file before its workspace is opened. For a large file it takes seconds and happens in a thread, while other workspaces are served.

import { isLargeAndOld, migrateAhead } from '../store/migrating-ahead.ts'
import { discardRepacked, isRepackedBeforeOpening, repackDatabase } from './repacking.ts'

/** Brings the file to this version's schema if it is large, and rewrites it if an older version has left it mostly unused. */
export async function prepareFile(path: string, onTrouble: (error: Error) => void): Promise<void> {
  await migrateAhead(path)
  discardRepacked(path)
  // The workspace can be opened all the same if its file stays as it is.
  if (isRepackedBeforeOpening(path)) await repackDatabase(path, () => true).catch(onTrouble)
}

/** Returns the names in the same order, but those whose files need such work last, so that no other workspace waits for it. */
export function slowestLast(names: string[], pathOf: (name: string) => string): string[] {
  const isSlow = new Set(names.filter((name) => isLargeAndOld(pathOf(name)) || isRepackedBeforeOpening(pathOf(name))))
  return [...names.filter((name) => !isSlow.has(name)), ...isSlow]
}
