// Rewrites the database file of a workspace at rest, once: a file that an older version has made cannot give unused space back, the new one can. The
// copy is made in a thread, and takes the file's place only if nobody has opened the workspace meanwhile.

import { existsSync, renameSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncFolder } from '../machine/sync.ts'
import { freeClosedFiles } from '../store/database.ts'
import type { FreePages } from '../store/free-pages.ts'
import { copyInThread, removeCopy } from '../store/snapshot.ts'

/** Unused space that is worth rewriting the whole file: so many bytes, and such a part of the file. */
const [stuckMin, partMin] = [1024 * 1024, 0.25]
/** How often, and with which pause, it is looked whether the connections of the closed workspace have ended, which takes their log away. */
const [tries, tryMs] = [5, 200]

export function isWorthRepacking(pages: FreePages): boolean {
  return !pages.canShrink && pages.bytes >= Math.max(stuckMin, partMin * pages.fileBytes)
}

/** Rewrites a database. `isAtRest`: whether nobody has opened the workspace since; nobody waits for this work. Returns whether the new file is in place. */
export async function repackDatabase(path: string, isAtRest: () => boolean): Promise<boolean> {
  const copy = repackedPath(path)
  try {
    discardRepacked(path)
    const before = stampOf(path)
    await copyInThread(path, copy)
    await syncInThread(copy)
    for (let done = 0; done < tries && isAtRest(); done++) {
      await freeClosedFiles()
      // A log beside another database would be played into it, so a file that has one stays. From here to the end nothing else can happen.
      if (isAtRest() && stampOf(path) === before && !existsSync(`${path}-wal`)) return placeRepacked(copy, path)
      await sleep(tryMs, undefined, { ref: false })
    }
    return false
  } finally {
    removeCopy(copy)
  }
}

/** Removes a copy that a daemon was making when it was killed. */
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

/** Tells one file from another at the same path. */
function stampOf(path: string): string {
  const { ino, dev } = statSync(path)
  return `${dev} ${ino}`
}

/** Syncs without keeping the daemon waiting: the file may be large. */
async function syncInThread(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
