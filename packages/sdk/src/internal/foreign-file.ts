// The one careful reader of files that are not ours: those of a repository and those that a user's other programs own. Such a file may be a link to a device,
// a FIFO that nobody writes to, or endless. The meaning of a file is up to the caller. Loaded by the stdio pipe, which must start in the time of a bare Node:
// `node:fs` and `node:path` only.

import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, relative, sep } from 'node:path'

/** Default limit of size: no configuration file that we read needs more. */
export const foreignFileBytesMax = 1024 * 1024

export interface ForeignFileOptions {
  bytesMax?: number
  /** The path may be a link. The user's own files often are, made by a tool for dotfiles. Those of a repository must never be. */
  mayBeLink?: boolean
  /** A directory above the file: nothing between the two may be a link. */
  within?: string
}

export interface ForeignFile {
  bytes: Buffer
  stats: Stats
}

/** The file was not read. `why` is a whole clause about it: "this is a FIFO, not a file". */
export class UnsafeFileError extends Error {
  readonly code = 'file.unsafe'
  readonly path: string
  readonly why: string

  constructor(path: string, why: string) {
    super(`${path}: ${why}. Replace it with a regular file, or remove it.`)
    this.name = 'UnsafeFileError'
    this.path = path
    this.why = why
  }
}

/** Reads a file; undefined where there is none. Throws `UnsafeFileError`, or what the system said. Never waits, never reads more than `bytesMax`. */
export function readForeignFile(path: string, options: ForeignFileOptions = {}): ForeignFile | undefined {
  const { bytesMax = foreignFileBytesMax } = options
  const opened = openForeignFile(path, options)
  if (!opened) return undefined
  const { descriptor, stats } = opened
  try {
    return { bytes: readAll(descriptor, path, stats.size, bytesMax), stats }
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Copies a file that is too large to be read in one go, because others are served meanwhile; the copy is for its owner alone. Takes no more than the file held
 * when it was opened; makes nothing where there is no file.
 */
export async function copyForeignFile(path: string, to: string, options: ForeignFileOptions = {}): Promise<void> {
  const { pipeline } = await import('node:stream/promises')
  const opened = openForeignFile(path, options)
  if (!opened) return
  const { descriptor: fd, stats } = opened
  // An empty file is read for one byte, should it get one meanwhile.
  const end = Math.max(0, stats.size - 1)
  await pipeline(createReadStream('', { fd, end }), createWriteStream(to, { mode: 0o600 }))
}

/** Checks and opens a file; the caller closes it. */
function openForeignFile(path: string, options: ForeignFileOptions): { descriptor: number; stats: Stats } | undefined {
  const { bytesMax = foreignFileBytesMax, mayBeLink = false, within } = options
  if (within !== undefined && !isPlainWay(within, path)) return undefined
  // The file is looked at before it is opened: opening a device can have effects of its own.
  const found = statsOf(path, mayBeLink)
  if (!found) return undefined
  mustBeFile(path, found)
  const descriptor = open(path, mayBeLink)
  if (descriptor === undefined) return undefined
  try {
    // The file that was opened counts: something else may have taken the path in between.
    const stats = fstatSync(descriptor)
    mustBeFile(path, stats)
    if (stats.size > bytesMax) throw tooLarge(path, bytesMax)
    return { descriptor, stats }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Reads a file as text; bytes that are not UTF-8 become U+FFFD. */
export function readForeignText(path: string, options?: ForeignFileOptions): string | undefined {
  return readForeignFile(path, options)?.bytes.toString('utf8')
}

/** Whether `path` is a directory and not a link; false where nothing is there. Throws `UnsafeFileError` for anything else. */
export function isPlainDirectory(path: string): boolean {
  const stats = statsOf(path, false)
  if (!stats) return false
  if (stats.isSymbolicLink()) throw new UnsafeFileError(path, 'this is a link, not a directory')
  if (!stats.isDirectory()) throw new UnsafeFileError(path, 'this is not a directory')
  return true
}

/** False where a directory between `within` and the file is missing: then the file is missing, too. Throws where one is a link. */
function isPlainWay(within: string, path: string): boolean {
  const steps = relative(within, dirname(path)).split(sep)
  let directory = within
  for (const step of steps) {
    if (step === '') continue
    directory += sep + step
    const stats = statsOf(directory, false)
    if (!stats || (!stats.isDirectory() && !stats.isSymbolicLink())) return false
    if (stats.isSymbolicLink()) throw new UnsafeFileError(directory, 'this is a link, not a directory')
  }
  return true
}

/** The file's status; undefined also for a user who may not search its directory. */
function statsOf(path: string, mayBeLink: boolean): Stats | undefined {
  try {
    return (mayBeLink ? statSync : lstatSync)(path, { throwIfNoEntry: false })
  } catch (error) {
    if (['ENOTDIR', 'EACCES'].includes(codeOf(error))) return undefined
    throw error
  }
}

function open(path: string, mayBeLink: boolean): number | undefined {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0, O_NOFOLLOW = 0 } = constants
  try {
    return openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (mayBeLink ? 0 : O_NOFOLLOW))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ELOOP') throw new UnsafeFileError(path, 'this is a link, not a file')
    throw error
  }
}

/** Throws `UnsafeFileError` for anything else than a regular file. */
export function mustBeFile(path: string, stats: Stats): void {
  if (stats.isFile()) return
  const what = stats.isSymbolicLink()
    ? 'a link'
    : stats.isDirectory()
      ? 'a directory'
      : stats.isFIFO()
        ? 'a FIFO'
        : stats.isSocket()
          ? 'a socket'
          : 'a device'
  throw new UnsafeFileError(path, `this is ${what}, not a file`)
}

/** Reads a whole file. The size is only a first guess: the file may grow while it is read. */
function readAll(descriptor: number, path: string, size: number, bytesMax: number): Buffer {
  let bytes = Buffer.alloc(size + 1)
  let length = 0
  for (;;) {
    const count = readSync(descriptor, bytes, length, bytes.length - length, null)
    if (count === 0) break
    length += count
    if (length > bytesMax) throw tooLarge(path, bytesMax)
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(bytesMax + 1, 2 * length + 1024))
  }
  // Files of /proc say that they are empty, and are not.
  if (length > 0 && fstatSync(descriptor).size === 0) throw new UnsafeFileError(path, 'this is not a file on a disk')
  return bytes.subarray(0, length)
}

function tooLarge(path: string, bytesMax: number): UnsafeFileError {
  return new UnsafeFileError(path, `this is larger than ${bytesMax / 1024} KiB`)
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
