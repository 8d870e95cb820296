// Rewrites the database file of a workspace that is closed, once: a file that an older version has made cannot give unused space back, the new one can. This is
// done when nobody uses the workspace, or before a daemon opens it, since one in constant use is closed at no other time. The copy is made in a thread, and
// replaces the file only if nobody has opened the workspace meanwhile.

import { existsSync, renameSync, statfsSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncFolder } from '../machine/sync.ts'
import { freeClosedFiles } from '../store/database.ts'
import { type FileHeader, readFileHeader } from '../store/file-header.ts'
import { copyInThread, removeCopy } from '../store/snapshot.ts'

/** A file is rewritten if at least this many bytes, and this part of it, are unused. */
const [stuckMin, partMin] = [1024 * 1024, 0.25]
/** Number of checks, and the interval in ms, whether the closed workspace's connections have ended: the last one removes the write-ahead log. */
const [tries, tryMs] = [5, 200]

/** The files that are being rewritten now. */
const underWay = new Set<string>()

export function isWorthRepacking({ canShrink, bytes, fileBytes }: Omit<FileHeader, 'version'>): boolean {
  return !canShrink && bytes >= Math.max(stuckMin, partMin * fileBytes)
}

/** Whether a file that is about to be opened should be rewritten before: if that is worth it, and the disk has room for the copy. */
export function isRepackedBeforeOpening(path: string): boolean {
  const header = underWay.has(path) ? undefined : readFileHeader(path)
  if (!header || !isWorthRepacking(header)) return false
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize > header.fileBytes
}

/** Rewrites a database file. `isAtRest`: whether nobody has opened the workspace since it was closed. Returns whether the new file is in place. */
export async function repackDatabase(path: string, isAtRest: () => boolean): Promise<boolean> {
  const copy = repackedPath(path)
  underWay.add(path)
  try {
    discardRepacked(path)
    const before = stampOf(path)
    await copyInThread(path, copy)
    await syncInThread(copy)
    for (let done = 0; done < tries && isAtRest(); done++) {
      await freeClosedFiles()
      // A file with a write-ahead log is not replaced, since SQLite would apply the log to the new file. From this check on no other code runs until the file
      // is replaced.
      if (isAtRest() && stampOf(path) === before && !existsSync(`${path}-wal`)) return placeRepacked(copy, path)
      await sleep(tryMs, undefined, { ref: false })
    }
    return false
  } finally {
    underWay.delete(path)
    removeCopy(copy)
  }
}

/** Deletes a copy that an earlier daemon was making when it was killed. */
export function discardRepacked(path: string): void {
  removeCopy(repackedPath(path))
}

function repackedPath(path: string): string {
  return `${path}.repacked`
}

function placeRepacked(copy: string, path: string): true {
  renameSync(copy, path)
  syncFolder(dirname(path))
  return true
}

/** Returns the device and inode of a file, which tell it from another file at the same path. */
function stampOf(path: string): string {
  const { ino, dev } = statSync(path)
  return `${dev} ${ino}`
}

/** Syncs a file in the background, since a large one takes long. */
async function syncInThread(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
