// All writes and removals on the disk by the code in work/; none of its other files may write. Each step starts from a folder that is held open and
// that no link leads to: even if something else takes the folder's place meanwhile, nothing elsewhere is touched. Callers make sure that a file is
// ours.

import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { readdir, rmdir, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Maximum depth of a folder that is removed: one folder is held open for each level. */
const levelsMax = 500
const isLinux = process.platform === 'linux'

/**
 * Holds a folder open for `work`. On Linux `work` gets a path that leads to this very folder, even if something else has taken its place by then; on other
 * systems, the plain path.
 */
async function withOpenFolder<T>(
  path: string | Buffer,
  work: (held: string, descriptor: number) => T,
): Promise<Awaited<T>> {
  const descriptor = open(path)
  try {
    return await work(isLinux ? `/proc/self/fd/${descriptor}` : `${path}`, descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Holds a folder open for `work`; refuses a folder that a link leads to. */
export function withFolder<T>(folder: string, work: (held: string) => T): Promise<Awaited<T>> {
  return withOpenFolder(folder, (held) => {
    if ((isLinux ? readlinkSync(held) : realpathSync(folder)) !== folder) throw linkError(folder)
    return work(held)
  })
}

function open(path: string | Buffer): number {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    const isOther = ['ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')
    throw isOther ? linkError(`${path}`) : error
  }
}

function linkError(folder: string): Error {
  return new Error(`${folder} is a link, or is reached by one, so nothing is written or removed there`)
}

/** Returns information about a path; undefined if nothing is there. A link is not followed. */
function statsOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

/** Makes a folder and the folders above it. */
export async function makeFolder(folder: string): Promise<void> {
  if (statsOf(folder) === undefined) {
    await makeFolder(dirname(folder))
    await withFolder(dirname(folder), (held) => mkdirSync(join(held, basename(folder)), { recursive: true }))
  }
  await withFolder(folder, () => {})
}

/** Writes a new file. Fails if something exists at the path already. */
export function createFile(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  return withFolder(dirname(path), (held) => writeFileSync(join(held, basename(path)), bytes, { flag: 'wx', mode }))
}

/** Writes a file that only its owner can read. An existing file is replaced, not written into: it may be a link. */
export function replaceFile(path: string, text: string): Promise<void> {
  return withFolder(dirname(path), (held) => {
    const aside = join(held, `${basename(path)}.new`)
    rmSync(aside, { force: true })
    writeFileSync(aside, text, { flag: 'wx', mode: 0o600 })
    renameSync(aside, join(held, basename(path)))
  })
}

/** Removes a file. A file that somebody else has removed meanwhile is no failure. */
export function removeFile(path: string): Promise<void> {
  return withFolder(dirname(path), (held) => rmSync(join(held, basename(path)), { force: true }))
}

/** Removes an empty folder. Returns false if the path is anything else. */
export function removeEmptyFolder(path: string): Promise<boolean> {
  return withFolder(dirname(path), (held) => {
    try {
      rmdirSync(join(held, basename(path)))
      return true
    } catch {
      return false
    }
  })
}

/** Makes a folder in the system's temporary directory for the time of `work`. */
export async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-diff-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/*
 * A folder is removed in three steps, each of them one rename, so that an interrupted removal continues where it was:
 *
 *   NAME  →  .looking-INODE/NAME  →  .removed-INODE/NAME  →  gone
 *
 * Only the owner can enter the folder `.looking-INODE`. In it the folder NAME is checked once more, and goes back if it does not pass. INODE is the
 * number of the folder NAME, which no repository and no archive can know beforehand: nothing else in a folder of these names is taken for ours.
 */

/**
 * Removes a folder. `check` throws an error if the folder has to stay. It is called with a path that leads to this very folder and nothing else, and
 * with a path that other programs can use.
 */
export async function removeFolder(path: string, check: (held: string, path: string) => unknown): Promise<void> {
  const name = basename(path)
  await withFolder(dirname(path), async (held) => {
    const stats = statsOf(join(held, name))
    if (!stats) return
    if (!stats.isDirectory()) throw new Error(`${path} is not a folder`)
    const [looking, removed] = [`.looking-${stats.ino}`, `.removed-${stats.ino}`]
    mkdirSync(join(held, looking), { mode: 0o700 })
    renameSync(join(held, name), join(held, looking, name))
    try {
      if (statsOf(join(held, looking, name))?.ino !== stats.ino) throw new Error(`${path} was replaced meanwhile`)
      await check(join(held, looking, name), join(dirname(path), looking, name))
    } catch (error) {
      try {
        putBack(held, looking, name)
      } catch {
        throw new Error(`something else has taken its place meanwhile; it is in ${join(dirname(path), looking, name)}`)
      }
      throw error
    }
    renameSync(join(held, looking), join(held, removed))
    await removeContents(join(held, removed))
  })
}

/** Continues interrupted removals of folders in `folder`: those that had passed their check are removed, all others are moved back. */
export async function continueRemovals(folder: string): Promise<void> {
  if (statsOf(folder) === undefined) return
  await withFolder(folder, async (held) => {
    for (const entry of readdirSync(held)) {
      const [, step, inode] = /^\.(looking|removed)-(\d+)$/.exec(entry) ?? []
      if (inode === undefined || !isPrivate(join(held, entry))) continue
      const names = readdirSync(join(held, entry))
      if (names.some((name) => statsOf(join(held, entry, name))?.ino !== BigInt(inode))) continue
      // A removal that fails now is tried again by a later call, and does not prevent other removals.
      try {
        if (step === 'removed') await removeContents(join(held, entry))
        else putBack(held, entry, names[0])
      } catch {}
    }
  })
}

/** Moves a folder that must stay back to its place. Nothing is overwritten: a folder can only take the place of an empty one. */
function putBack(held: string, aside: string, name: string | undefined): void {
  if (name !== undefined) renameSync(join(held, aside, name), join(held, name))
  rmdirSync(join(held, aside))
}

function isPrivate(path: string): boolean {
  const stats = lstatSync(path)
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o777) === 0o700
}

/**
 * Removes a folder with its contents, each step from a folder that is held open: a process that still runs in the folder cannot use a link to lead the removal
 * out of it.
 */
async function removeContents(path: string | Buffer, levels = levelsMax): Promise<void> {
  if (levels === 0) throw new Error(`it holds folders in more than ${levelsMax} folders`)
  await withOpenFolder(path, async (held, descriptor) => {
    fchmodSync(descriptor, 0o700)
    // File names are read as bytes: a name need not be valid text.
    for (const entry of await readdir(held, { withFileTypes: true, encoding: 'buffer' })) {
      const inside = Buffer.concat([Buffer.from(`${held}/`), entry.name])
      if (entry.isDirectory()) await removeContents(inside, levels - 1)
      else await unlink(inside)
    }
  })
  await rmdir(path)
}
