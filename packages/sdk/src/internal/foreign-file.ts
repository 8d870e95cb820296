// Safely reads files that are not ours: files of a repository, and files that the user's other programs own. Such a file may be a link to a device, a FIFO that
// nobody writes to, or endless. This file does not interpret the content. The MCP stdio pipe loads this file and must start as fast as a bare Node, so it
// imports only `node:fs` and `node:path`.

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

/** The default size limit in bytes: no configuration file that we read is larger. */
export const foreignFileBytesMax = 1024 * 1024

export interface ForeignFileOptions {
  bytesMax?: number
  /**
   * Whether the path may be a symbolic link. The user's own files often are links, made by a tool that manages dotfiles; files of a repository must never be.
   */
  mayBeLink?: boolean
  /** The directory, above the file, below which no directory on the way to the file may be a link. */
  within?: string
}

export interface ForeignFile {
  bytes: Buffer
  stats: Stats
}

/** Thrown if a file is not safe to read. `why` is a whole clause, such as "this is a FIFO, not a file". */
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

/**
 * Reads a file; undefined if the file does not exist. Throws `UnsafeFileError`, or the system's own error. Never waits, and never reads more than `bytesMax`.
 */
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
 * Copies a file piece by piece, because it may be large and the process serves others meanwhile. Only the owner can read the copy, and it contains no more than
 * the file held when it was opened. If the file does not exist, no copy is made.
 */
export async function copyForeignFile(path: string, to: string, options: ForeignFileOptions = {}): Promise<void> {
  const { pipeline } = await import('node:stream/promises')
  const opened = openForeignFile(path, options)
  if (!opened) return
  const { descriptor: fd, stats } = opened
  // `end` is the last byte to read, so it cannot express "no bytes": of an empty file one byte is requested, and copied if the file has grown meanwhile.
  const end = Math.max(0, stats.size - 1)
  await pipeline(createReadStream('', { fd, end }), createWriteStream(to, { mode: 0o600 }))
}

/** Checks and opens a file. The caller has to close the descriptor. */
function openForeignFile(path: string, options: ForeignFileOptions): { descriptor: number; stats: Stats } | undefined {
  const { bytesMax = foreignFileBytesMax, mayBeLink = false, within } = options
  if (within !== undefined && !hasPlainDirectories(within, path)) return undefined
  // The file is checked before it is opened, because merely opening a device may do something.
  const found = statsOf(path, mayBeLink)
  if (!found) return undefined
  assertRegularFile(path, found)
  const descriptor = open(path, mayBeLink)
  if (descriptor === undefined) return undefined
  try {
    // The opened file is checked again, because another file may have taken the path in between.
    const stats = fstatSync(descriptor)
    assertRegularFile(path, stats)
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

/** Whether `path` is a directory and not a link; false if nothing exists there. Throws `UnsafeFileError` for anything else. */
export function isPlainDirectory(path: string): boolean {
  const stats = statsOf(path, false)
  if (!stats) return false
  if (stats.isSymbolicLink()) throw new UnsafeFileError(path, 'this is a link, not a directory')
  if (!stats.isDirectory()) throw new UnsafeFileError(path, 'this is not a directory')
  return true
}

/** Whether all directories between `within` and the file exist; if one is missing, the file is missing too. Throws if one of them is a link. */
function hasPlainDirectories(within: string, path: string): boolean {
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

/** Returns a file's status; undefined if the file does not exist, or if the user may not search its directory. */
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

/** Throws `UnsafeFileError` for everything but a regular file. */
export function assertRegularFile(path: string, stats: Stats): void {
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

/** Reads a whole file. `size` is only a first guess, since the file may grow while it is read. */
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
  // Files of /proc report the size 0 although they have content.
  if (length > 0 && fstatSync(descriptor).size === 0) throw new UnsafeFileError(path, 'this is not a file on a disk')
  return bytes.subarray(0, length)
}

function tooLarge(path: string, bytesMax: number): UnsafeFileError {
  return new UnsafeFileError(path, `this is larger than ${bytesMax / 1024} KiB`)
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
