// Replaces one configuration file on disk: resolves its real path, reads it, and writes it so that the file is never half written and no other
// program's change is lost. The caller decides what is written.

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
import { basename, dirname, join, relative, sep } from 'node:path'
import {
  type ForeignFile,
  foreignFileBytesMax,
  readForeignFile,
  UnsafeFileError,
} from '@agent-relay/sdk/internal/discover'
import { FileUntouchedError } from './format.ts'

/** Maximum size of an edited file outside a project. A user's own settings may be large, since some CLIs keep histories in them. */
const editedFileBytesMax = 64 * 1024 * 1024
/** Age at which a draft (the new content in a temporary file) counts as left behind by a process that died: writing takes only milliseconds. */
const draftMsMax = 10_000
/** Interval of the checks whether another process has freed the lock, which is that process's draft. */
const draftPollMs = 5
/** The number of tries before giving up on a file that another program writes all the time. */
const triesMax = 20

export interface FileSnapshot {
  /** The real path of the file, with all symbolic links resolved. */
  path: string
  bytes?: Buffer
  /** The content; undefined if there is no file. */
  text?: string
  stats?: Stats
}

export interface FileOptions {
  /** The project's directory. A file is refused if symbolic links lead out of this directory. */
  within?: string
  /** The permission bits of a file that does not exist yet. */
  mode?: number
}

export function readSnapshot(file: string, { within }: FileOptions = {}): FileSnapshot {
  const path = realPath(file)
  if (within !== undefined && isOutside(path, within))
    throw new FileUntouchedError(`a link leads out of the project, to ${path}`)
  const found = readForEdit(path, within === undefined ? editedFileBytesMax : foreignFileBytesMax)
  return found === undefined ? { path } : { path, ...found, text: decodeUtf8(found.bytes) }
}

/** Reads the file at a path whose links were resolved. Refuses a symbolic link there: somebody put it there after that. */
function readForEdit(path: string, bytesMax: number): ForeignFile | undefined {
  try {
    return readForeignFile(path, { bytesMax })
  } catch (error) {
    throw error instanceof UnsafeFileError ? new FileUntouchedError(error.why) : error
  }
}

/**
 * Resolves all symbolic links of the path. Refuses a link whose target is missing: the link is probably a mistake, and its target no place for a new
 * file.
 */
function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new FileUntouchedError(`this is a link to ${readlinkSync(file)}, which is not there`)
    const parent = dirname(file)
    return parent === file ? file : join(realPath(parent), basename(file))
  }
}

function isOutside(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), path)
  return way === '..' || way.startsWith(`..${sep}`) || way === path
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new FileUntouchedError('not a text in UTF-8', true)
  }
}

/**
 * Refuses a read-only file and, unless root runs this, another user's file. The check is needed because a rename over a file ignores that file's
 * permissions.
 */
function checkWritable({ stats }: FileSnapshot): void {
  if (!stats || process.getuid === undefined) return
  if ((stats.mode & 0o200) === 0) throw new FileUntouchedError('the file is read-only')
  if (process.getuid() !== 0 && stats.uid !== process.getuid())
    throw new FileUntouchedError('the file belongs to another user')
}

export interface ReplaceDetails {
  /** The outermost directory that was created for the file, if any. */
  madeDirectory?: string
}

/**
 * Replaces the file's text by the result of `rewrite` (undefined removes the file). If another program has changed the file meanwhile, calls
 * `rewrite` again. Calls `beforeWriting` just before it replaces or removes the file.
 */
export function replaceFile(
  file: string,
  options: FileOptions,
  rewrite: (found: FileSnapshot) => string | undefined,
  beforeWriting: (found: FileSnapshot, text: string | undefined, made: ReplaceDetails) => void,
): void {
  let madeDirectory: string | undefined
  for (let tries = 0; ; tries++) {
    const found = readSnapshot(file, options)
    const first = rewrite(found)
    if (first === found.text) return
    checkWritable(found)
    if (tries === triesMax) throw new FileUntouchedError('another program keeps writing to it')
    madeDirectory ??= mkdirSync(dirname(found.path), { recursive: true })
    const draft = new Draft(found, options.mode)
    try {
      // The draft exists, so this process has the lock. It reads the file again, which may have changed since the first read.
      const now = readSnapshot(file, options)
      const text = now.path === found.path ? rewrite(now) : undefined
      if (now.path !== found.path) continue
      if (text === now.text) return
      draft.write(text ?? '')
      beforeWriting(now, text, { madeDirectory })
      if (!isSameContent(now, readSnapshot(file, options))) continue
      if (text === undefined) unlinkSync(now.path)
      else draft.rename(now.path)
      syncDirectory(dirname(now.path))
      return
    } finally {
      draft.close()
    }
  }
}

function isSameContent(one: FileSnapshot, other: FileSnapshot): boolean {
  if (one.path !== other.path || one.stats?.ino !== other.stats?.ino) return false
  return one.bytes === undefined ? other.bytes === undefined : other.bytes?.equals(one.bytes) === true
}

/** The new content, in a temporary file beside the old one. All our processes use the same name for it, so that it is also the lock. */
class Draft {
  readonly #path: string
  readonly #descriptor: number
  #isGone = false

  constructor({ path, stats }: FileSnapshot, mode = 0o600) {
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
      // Removes an old draft, and also one whose time is in the future: the clock was set back after it was written.
      if (left && Math.abs(Date.now() - left.mtimeMs) > draftMsMax) unlinkSync(this.#path)
      if (performance.now() > until)
        throw new FileUntouchedError(`another process left the lock file ${this.#path}; remove it`)
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

  /** Renames the draft over the file, which also frees the lock. */
  rename(path: string): void {
    if (!this.#isOurs()) throw new FileUntouchedError('another process of Agent Relay is editing the file; try again')
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

/** Makes the rename durable by fsync of its directory. Not every system allows a directory to be opened. */
function syncDirectory(path: string): void {
  try {
    const descriptor = openSync(path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {
    // The failure is ignored: the content of the file is on disk already.
  }
}
