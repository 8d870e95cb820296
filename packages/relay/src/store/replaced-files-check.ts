// Checks that the files that this process has open are still those at their paths. A commit into a file that was removed or cut would be lost, and SQLite
// reports no error.

import { type Stats, statSync } from 'node:fs'
import { basename } from 'node:path'

interface KnownFile {
  path: string
  dev: number
  ino: number
  /**
   * The size in bytes when the file was last checked. A file may get shorter only while the daemon gives space back: SQLite reuses its write-ahead log without
   * cutting the file.
   */
  size: number
  /** The minimum length in bytes while the daemon gives space back: a shorter file was cut by somebody else. */
  shortest?: number
  /**
   * Whether the file took as much space on the disk as it has bytes, as files that SQLite writes do. On a file system that compresses files it is false, and
   * the check for holes is left out.
   */
  isSolid: boolean
}

interface FileChange {
  path: string
  reason: string
  /** Whether the file was cut. SQLite could not read back what it has written. */
  isCut: boolean
}

/**
 * Compares the files at the paths with those that were opened, by device and inode: no other file can get the inode of an open file. Only paths are examined,
 * since closing a second descriptor of a database would release SQLite's locks. If SQLite has written beyond the place where a file was cut, the file has its
 * full length again, but also a hole, which takes no space on the disk.
 */
export class ReplacedFilesCheck {
  readonly #known: KnownFile[]
  readonly #isWhole: (path: string) => boolean

  /**
   * Remembers the present state of the files, without those that are not on disk, such as a database in memory. `isWhole` is called for a file that takes less
   * space than its length, which may be cut or compressed; it reads the file to find out.
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

  /** Allows SQLite to make a file shorter, down to this length, until `endShrinking`. */
  mayShrinkTo(path: string, bytes: number): void {
    for (const known of this.#known) if (known.path === path) known.shortest = Math.min(known.shortest ?? bytes, bytes)
  }

  /** From now on, a file that gets shorter was cut by somebody else. Call this after `findChanged` has recorded the files' new lengths. */
  endShrinking(): void {
    for (const known of this.#known) known.shortest = undefined
  }
}

function changed(path: string, reason: string, isCut = false): FileChange {
  return { path, reason: `${basename(path)} ${reason}`, isCut }
}

/** Offset in bytes of the database page that SQLite uses only for locks and never writes, which is a hole in a large file. */
const lockedAt = 2 ** 30
const pageBytes = 4_096

/** Whether the file has no holes, so that all its bytes take space. `stat` counts blocks of 512 bytes on every system. */
function isSolid({ blocks, size }: Stats): boolean {
  return blocks * 512 >= size - (size > lockedAt ? pageBytes : 0)
}
