// All that work/ makes, writes and removes on a disk; no other file of it may. Each step starts from a folder that is held open and that no link
// leads to, so whatever takes the folder's place meanwhile, nothing is touched elsewhere. What is ours is for the caller to know.

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

/** A folder is held open for each level of what is removed. */
const levelsMax = 500
const isLinux = process.platform === 'linux'

/** `work` gets a path that leads to this very folder, also when something else stands in its place by then. Elsewhere than on Linux: the path itself. */
async function holding<T>(path: string | Buffer, work: (held: string, descriptor: number) => T): Promise<Awaited<T>> {
  const descriptor = open(path)
  try {
    return await work(isLinux ? `/proc/self/fd/${descriptor}` : `${path}`, descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The same for a folder by its own path: refuses one that a link leads to. */
export function inFolder<T>(folder: string, work: (held: string) => T): Promise<Awaited<T>> {
  return holding(folder, (held) => {
    if ((isLinux ? readlinkSync(held) : realpathSync(folder)) !== folder) throw linked(folder)
    return work(held)
  })
}

function open(path: string | Buffer): number {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    const isOther = ['ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')
    throw isOther ? linked(`${path}`) : error
  }
}

function linked(folder: string): Error {
  return new Error(`${folder} is a link, or is reached by one, so nothing is written or removed there`)
}

/** Undefined where nothing is there; a link is not followed. */
function found(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

/** With the folders above it. */
export async function makeFolder(folder: string): Promise<void> {
  if (found(folder) === undefined) {
    await makeFolder(dirname(folder))
    await inFolder(dirname(folder), (held) => mkdirSync(join(held, basename(folder)), { recursive: true }))
  }
  await inFolder(folder, () => {})
}

/** Fails where there is something already. */
export function writeNew(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  return inFolder(dirname(path), (held) => writeFileSync(join(held, basename(path)), bytes, { flag: 'wx', mode }))
}

/** For its owner alone. What stood there is replaced, not written into: it may be a link. */
export function replace(path: string, text: string): Promise<void> {
  return inFolder(dirname(path), (held) => {
    const aside = join(held, `${basename(path)}.new`)
    rmSync(aside, { force: true })
    writeFileSync(aside, text, { flag: 'wx', mode: 0o600 })
    renameSync(aside, join(held, basename(path)))
  })
}

/** One that somebody else has removed meanwhile is no failure. */
export function removeFile(path: string): Promise<void> {
  return inFolder(dirname(path), (held) => rmSync(join(held, basename(path)), { force: true }))
}

/** False where it is not an empty folder. */
export function removeIfEmpty(path: string): Promise<boolean> {
  return inFolder(dirname(path), (held) => {
    try {
      rmdirSync(join(held, basename(path)))
      return true
    } catch {
      return false
    }
  })
}

/** A folder for the time of `work`, where the system has such folders. */
export async function withScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-diff-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/*
 * A folder is removed in three steps, of which each is one rename, so that a removal that is cut off is taken up where it was:
 *
 *   NAME  →  .looking-INODE/NAME  →  .removed-INODE/NAME  →  gone
 *
 * Nobody looks for it in the folder in between, which is its owner's alone. There it is checked once more, and goes back if it does not pass. The number is
 * that of the folder itself, which no repository and no archive can know beforehand: nothing else in such a folder is taken for ours.
 */

/** `check` throws why it is not to be removed; it gets the path by which nothing else can be reached, and the one that other programs can use. */
export async function removeFolder(path: string, check: (held: string, path: string) => unknown): Promise<void> {
  const name = basename(path)
  await inFolder(dirname(path), async (held) => {
    const stats = found(join(held, name))
    if (!stats) return
    if (!stats.isDirectory()) throw new Error(`${path} is not a folder`)
    const [looking, removed] = [`.looking-${stats.ino}`, `.removed-${stats.ino}`]
    mkdirSync(join(held, looking), { mode: 0o700 })
    renameSync(join(held, name), join(held, looking, name))
    try {
      if (found(join(held, looking, name))?.ino !== stats.ino) throw new Error(`${path} was replaced meanwhile`)
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
    await clear(join(held, removed))
  })
}

/** Takes up the removals in this folder that were cut off: what was checked goes, all else comes back. */
export async function takeUpRemovals(folder: string): Promise<void> {
  if (found(folder) === undefined) return
  await inFolder(folder, async (held) => {
    for (const entry of readdirSync(held)) {
      const [, step, inode] = /^\.(looking|removed)-(\d+)$/.exec(entry) ?? []
      if (inode === undefined || !isPrivate(join(held, entry))) continue
      const names = readdirSync(join(held, entry))
      if (names.some((name) => found(join(held, entry, name))?.ino !== BigInt(inode))) continue
      // One that cannot be ended now is found again, and keeps nobody else from a removal.
      try {
        if (step === 'removed') await clear(join(held, entry))
        else putBack(held, entry, names[0])
      } catch {}
    }
  })
}

/** Nothing is overwritten: a folder can only take the place of an empty one. */
function putBack(held: string, aside: string, name: string | undefined): void {
  if (name !== undefined) renameSync(join(held, aside, name), join(held, name))
  rmdirSync(join(held, aside))
}

function isPrivate(path: string): boolean {
  const stats = lstatSync(path)
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o777) === 0o700
}

/** Step by step, each from a folder that is held: a process that still runs in there cannot lead this one out of it by a link. */
async function clear(path: string | Buffer, levels = levelsMax): Promise<void> {
  if (levels === 0) throw new Error(`it holds folders in more than ${levelsMax} folders`)
  await holding(path, async (held, descriptor) => {
    fchmodSync(descriptor, 0o700)
    // A name need not be text.
    for (const entry of await readdir(held, { withFileTypes: true, encoding: 'buffer' })) {
      const inside = Buffer.concat([Buffer.from(`${held}/`), entry.name])
      if (entry.isDirectory()) await clear(inside, levels - 1)
      else await unlink(inside)
    }
  })
  await rmdir(path)
}
