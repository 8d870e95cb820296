// Checks that the files that this process writes are still those at their paths. Commits into a file that was removed or cut are lost with the file, and
// SQLite goes on writing without an error.

import { type Stats, statSync } from 'node:fs'
import { basename } from 'node:path'

interface KnownFile {
  path: string
  dev: number
  ino: number
  /** The last known size. Only space that is given back makes a file shorter: SQLite starts its log again without cutting the log's file. */
  size: number
  /** While space is given back: the length below which the file was cut by somebody else. */
  shortest?: number
  /** Whether every byte of the file takes space on the disk, as SQLite writes it. If the file system packs files, this tells nothing. */
  isSolid: boolean
}

interface FileChange {
  path: string
  reason: string
  /** Whether the file was cut, so that SQLite would not read back what was written. */
  isCut: boolean
}

/**
 * Compares the files at the paths with those that were opened. Only paths are looked at: closing a descriptor of our own on a database would release
 * SQLite's locks. No other file can get the inode of a file that SQLite has open, so device and inode tell. A file that was cut may have its length
 * again, once SQLite has written beyond the cut: then there is a hole in it, which takes no space on the disk.
 */
export class OpenedFiles {
  readonly #known: KnownFile[]
  readonly #isWhole: (path: string) => boolean

  /**
   * Remembers the files as they are at this moment, and leaves out those that are not on disk, such as a database in memory. `isWhole` reads a file that
   * takes less space than it should: some file systems pack files later.
   */
  constructor(paths: readonly string[], isWhole: (path: string) => boolean) {
    this.#isWhole = isWhole
    this.#known = paths.flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? [{ path, dev: found.dev, ino: found.ino, size: found.size, isSolid: isSolid(found) }] : []
    })
  }

  /** Returns the first file that has changed; undefined if none has. */
  findChanged(): FileChange | undefined {
    for (const known of this.#known) {
      const { path, dev, ino, size, shortest = size } = known
      const found = statSync(path, { throwIfNoEntry: false })
      if (!found) return changed(path, 'was removed or moved away')
      if (found.ino !== ino || found.dev !== dev) return changed(path, 'has another file in its place')
      if (found.size < Math.min(size, shortest))
        return changed(path, `was cut from ${size} to ${found.size} bytes`, true)
      if (known.isSolid && !isSolid(found)) {
        if (!this.#isWhole(path)) return changed(path, 'was cut, and what was written after that leaves a hole', true)
        known.isSolid = false
      }
      known.size = found.size
    }
    return undefined
  }

  /** Lets SQLite make a file shorter, but not shorter than this, until `endShrinking`. */
  mayShrinkTo(path: string, bytes: number): void {
    for (const known of this.#known) if (known.path === path) known.shortest = Math.min(known.shortest ?? bytes, bytes)
  }

  /** From here on a file that gets shorter was cut by somebody else. Call this when `findChanged` has seen the files in their new lengths. */
  endShrinking(): void {
    for (const known of this.#known) known.shortest = undefined
  }
}

function changed(path: string, reason: string, isCut = false): FileChange {
  return { path, reason: `${basename(path)} ${reason}`, isCut }
}

/** The offset of a database page that is never written: SQLite locks the file by that page. */
const lockedAt = 2 ** 30
const pageBytes = 4_096

/** Whether the file has no holes. A block of `stat` has 512 bytes on every system. */
function isSolid({ blocks, size }: Stats): boolean {
  return blocks * 512 >= size - (size > lockedAt ? pageBytes : 0)
}
