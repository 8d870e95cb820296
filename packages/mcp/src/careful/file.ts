// One configuration file on disk: finds its real path, reads it, and replaces it so that it is never broken and no other writer's work is lost.
// The caller decides what is written.

import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import {
  type ForeignFile,
  foreignFileBytesMax,
  readForeignFile,
  UnsafeFileError,
} from '@agent-relay/sdk/internal/discover'
import { Untouched } from './format.ts'

/** The size limit of an edited file; the user's own may be large, since some CLIs keep histories among their settings. */
const editedFileBytesMax = 64 * 1024 * 1024
/** The age limit of a draft: a writer needs milliseconds, so an older draft was left by a writer that is gone. */
const draftMsMax = 10_000
/** Interval of looks at another writer's draft. */
const draftPollMs = 5
/** The number of tries before giving up on a file that another program writes all the time. */
const triesMax = 20

export interface Snapshot {
  /** The real path of the file, after every link. */
  path: string
  bytes?: Buffer
  /** The content; undefined if there is no file. */
  text?: string
  stats?: Stats
}

export interface FileOptions {
  /** The project's directory: a file that links lead out of it is refused. */
  within?: string
  /** The mode of a new file. */
  mode?: number
}

export function look(file: string, { within }: FileOptions = {}): Snapshot {
  const path = realPath(file)
  if (within !== undefined && isOutside(path, within))
    throw new Untouched(`a link leads out of the project, to ${path}`)
  const found = read(path, within === undefined ? editedFileBytesMax : foreignFileBytesMax)
  return found === undefined ? { path } : { path, ...found, text: decode(found.bytes) }
}

/** Reads the file. Links were followed before: one that stands there now was put there since, and is refused. */
function read(path: string, bytesMax: number): ForeignFile | undefined {
  try {
    return readForeignFile(path, { bytesMax })
  } catch (error) {
    throw error instanceof UnsafeFileError ? new Untouched(error.why) : error
  }
}

/** The path after all links. A link to nothing is somebody's mistake, not a place to put a file. */
function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Untouched(`this is a link to ${readlinkSync(file)}, which is not there`)
    const parent = dirname(file)
    return parent === file ? file : join(realPath(parent), basename(file))
  }
}

function isOutside(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), path)
  return way.startsWith('..') || way === path
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Untouched('not a text in UTF-8', true)
  }
}

/** Refuses a read-only file and another user's file: root could write them all the same. */
function checkWritable({ stats }: Snapshot): void {
  if (!stats || process.getuid === undefined) return
  if ((stats.mode & 0o200) === 0) throw new Untouched('the file is read-only')
  if (process.getuid() !== 0 && stats.uid !== process.getuid()) throw new Untouched('the file belongs to another user')
}

export interface Replaced {
  /** The first of the directories that had to be made. */
  madeDirectory?: string
}

/**
 * Asks `rewrite` for the new text (undefined: no file) until it could be put in place of the very bytes it was made from.
 * `before` is called when all is ready but the last step.
 */
export function replace(
  file: string,
  options: FileOptions,
  rewrite: (found: Snapshot) => string | undefined,
  before: (found: Snapshot, text: string | undefined, made: Replaced) => void,
): void {
  let madeDirectory: string | undefined
  for (let tries = 0; ; tries++) {
    const found = look(file, options)
    const first = rewrite(found)
    if (first === found.text) return
    checkWritable(found)
    if (tries === triesMax) throw new Untouched('another program keeps writing to it')
    madeDirectory ??= mkdirSync(dirname(found.path), { recursive: true })
    const draft = new Draft(found, options.mode)
    try {
      // This writer has the draft now, but the file may have changed since it was read above.
      const now = look(file, options)
      const text = now.path === found.path ? rewrite(now) : undefined
      if (now.path !== found.path) continue
      if (text === now.text) return
      draft.write(text ?? '')
      before(now, text, { madeDirectory })
      if (!isSame(now, look(file, options))) continue
      if (text === undefined) unlinkSync(now.path)
      else draft.rename(now.path)
      syncDirectory(dirname(now.path))
      return
    } finally {
      draft.close()
    }
  }
}

function isSame(one: Snapshot, other: Snapshot): boolean {
  if (one.path !== other.path || one.stats?.ino !== other.stats?.ino) return false
  return one.bytes === undefined ? other.bytes === undefined : other.bytes?.equals(one.bytes) === true
}

/** The new file beside the old one. All our writers use the same name for it, so only one of them can have it: it is the lock as well. */
class Draft {
  readonly #path: string
  readonly #descriptor: number
  #isGone = false

  constructor({ path, stats }: Snapshot, mode = 0o600) {
    this.#path = join(dirname(path), `.${basename(path)}.agent-relay.tmp`)
    this.#descriptor = this.#open()
    try {
      fchmodSync(this.#descriptor, stats ? stats.mode & 0o7777 : mode)
      const own = fstatSync(this.#descriptor)
      if (stats && (own.uid !== stats.uid || own.gid !== stats.gid)) fchownSync(this.#descriptor, stats.uid, stats.gid)
    } catch (error) {
      this.close()
      throw error
    }
  }

  #open(): number {
    for (const until = performance.now() + 6 * draftMsMax; ; ) {
      try {
        return openSync(this.#path, 'wx', 0o600)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const left = lstatSync(this.#path, { throwIfNoEntry: false })
      // A draft from the future was left before the clock was set back.
      if (left && Math.abs(Date.now() - left.mtimeMs) > draftMsMax) unlinkSync(this.#path)
      if (performance.now() > until) throw new Untouched(`another writer left ${this.#path}; remove it`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, draftPollMs * (1 + Math.random()))
    }
  }

  write(text: string): void {
    ftruncateSync(this.#descriptor)
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, done)
    fsyncSync(this.#descriptor)
  }

  /** Puts the file in place, which frees the lock in the same step. */
  rename(path: string): void {
    if (!this.#isOurs()) throw new Untouched('another writer took its turn; try again')
    renameSync(this.#path, path)
    this.#isGone = true
  }

  close(): void {
    if (!this.#isGone && this.#isOurs()) unlinkSync(this.#path)
    closeSync(this.#descriptor)
  }

  #isOurs(): boolean {
    return lstatSync(this.#path, { throwIfNoEntry: false })?.ino === fstatSync(this.#descriptor).ino
  }
}

/** Brings the new name to the disk. Not every system lets a directory be opened. */
function syncDirectory(path: string): void {
  try {
    const descriptor = openSync(path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {
    // Best effort: the file itself is safe either way.
  }
}
