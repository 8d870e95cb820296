// The format of a backup file: a tar archive, so that any tool can read it. Each workspace has NAME/relay.db, NAME/workspace.json with the digest of that
// database, and NAME/archive/FILE for each file of its archive. The last member, backup.json, marks the backup as complete. backup.ts makes and restores
// backups.

import { createHash } from 'node:crypto'
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { isProjectName } from '@agent-relay/sdk/internal/discover'
import { JsonDepthError, parseJson } from '@agent-relay/sdk/internal/parse-json'
import { RefusalError } from '../core/refusal-error.ts'
import type { DatabaseContents } from '../store/contents.ts'
import { isArchiveFile } from '../store/pruning.ts'

/** The description of one workspace in a backup: the contents of workspace.json. */
export interface BackupWorkspaceDescription extends DatabaseContents {
  name: string
  id: string
  bytes: number
  sha256: string
  /** The workspace's key. Set only if the person who made the backup asked for keys. */
  key?: string
  /** The files of the workspace's archive, with the events that were pruned from this database; unset if there are none. */
  archive?: BackedUpArchive[]
}

interface BackedUpArchive {
  file: string
  bytes: number
  sha256: string
}

/** A file of a workspace's archive to put into the backup. Only its first `bytes` belong to the database. */
export interface ArchiveToBackUp {
  path: string
  file: string
  bytes: number
}

/** The contents of backup.json. */
interface BackupManifest {
  /** The format's version: 2 if the backup contains archives, which versions of Agent Relay that know only format 1 cannot restore. */
  format: number
  /** Time of the backup, in ISO 8601. */
  at: string
  /** The version of Agent Relay that made the backup. */
  version: string
  workspaces: string[]
}

export interface Backup extends Omit<BackupManifest, 'workspaces'> {
  path: string
  workspaces: WorkspaceInBackup[]
}

/** A workspace in a backup file. `start` is the offset in bytes at which the data of its database or archive file begins. */
export type WorkspaceInBackup = Omit<BackupWorkspaceDescription, 'archive'> & {
  start: number
  archive: (BackedUpArchive & { start: number })[]
}

const formats = [1, 2]

const blockBytes = 512
const chunkBytes = 1024 * 1024
const jsonBytesMax = 1024 * 1024
/** Bytes that are written between two syncs of the backup file. A commit of the daemon waits until earlier writes are on disk, so they must stay few. */
const syncIntervalBytes = 4 * chunkBytes
/** Patterns of ids (ids.ts), keys (credentials.ts) and SHA-256 digests. */
const [workspaceId, secret, digest] = [/^w_[0-9a-hjkmnp-tv-z]{26}$/, /^rk_[\w-]{1,200}$/, /^[0-9a-f]{64}$/]
const manifestName = 'backup.json'
/** The largest size that fits tar's eleven octal digits. A larger one is written in binary (base 256), which GNU tar and later tools can read. */
const octalMax = 8 ** 11 - 1

export class BackupWriter {
  readonly #file: number
  readonly #names: string[] = []
  #hasArchives = false

  constructor(path: string) {
    this.#file = openSync(path, 'wx', 0o600)
  }

  /** Adds a workspace: its database, the files of its archive, and their description. */
  add(
    databasePath: string,
    known: Omit<BackupWorkspaceDescription, 'bytes' | 'sha256' | 'archive'>,
    archives: readonly ArchiveToBackUp[],
  ): BackupWorkspaceDescription {
    const database = this.#addFile(databasePath, '', `${known.name}/relay.db`)
    const archive = archives.map(({ path, file, bytes }) => ({
      file,
      ...this.#addFile(path, `${known.name}/archive`, file, bytes),
    }))
    const kept = { ...known, ...database, ...(archive.length > 0 ? { archive } : {}) }
    this.#addText(`${known.name}/workspace.json`, kept)
    this.#names.push(known.name)
    this.#hasArchives ||= archive.length > 0
    return kept
  }

  /** Adds a file, or only its first `bytesMax` bytes. */
  #addFile(path: string, folder: string, name: string, bytesMax?: number): { bytes: number; sha256: string } {
    const source = openSync(path, 'r')
    try {
      const bytes = Math.min(fstatSync(source).size, bytesMax ?? Number.MAX_SAFE_INTEGER)
      writeSync(this.#file, tarHeaderOf(name, bytes, folder))
      let unsynced = 0
      const sha256 = forEachChunk({ file: source, start: 0, bytes }, (chunk) => {
        writeAllBytes(this.#file, chunk)
        unsynced += chunk.length
        if (unsynced < syncIntervalBytes) return
        fdatasyncSync(this.#file)
        unsynced = 0
      })
      writeSync(this.#file, paddingOf(bytes))
      return { bytes, sha256 }
    } finally {
      closeSync(source)
    }
  }

  end(version: string): void {
    const format = this.#hasArchives ? 2 : 1
    const note: BackupManifest = { format, at: new Date().toISOString(), version, workspaces: this.#names }
    this.#addText(manifestName, note)
    writeSync(this.#file, Buffer.alloc(2 * blockBytes))
  }

  close(): void {
    closeSync(this.#file)
  }

  #addText(name: string, value: unknown): void {
    const text = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
    writeAllBytes(this.#file, Buffer.concat([tarHeaderOf(name, text.length), text, paddingOf(text.length)]))
  }
}

/** Reads what a backup contains. Throws if the file is not a backup, or if a part is missing. */
export function readBackup(path: string): Backup {
  return withFile(path, (file) => {
    const size = fstatSync(file).size
    const [spans, notes] = [new Map<string, FileSpan>(), new Map<string, BackupWorkspaceDescription>()]
    for (let at = 0; at + blockBytes <= size; ) {
      const { name, bytes } = tarMemberOf(readBytesAt(file, at, blockBytes), path)
      const span = { file, start: at + blockBytes, bytes }
      if (span.start + bytes > size) throw invalidBackup(path, 'it was cut off')
      if (name === manifestName) return checkedBackup(path, readJsonAt<BackupManifest>(span, path), spans, notes)
      const [, workspace, kind] = /^([^/]+)\/(relay\.db|workspace\.json|archive\/[^/]+)$/.exec(name) ?? []
      if (!isProjectName(workspace) || kind === undefined)
        throw invalidBackup(path, `"${name}" is in it, which no backup has`)
      if (kind === 'workspace.json') notes.set(workspace, readJsonAt<BackupWorkspaceDescription>(span, path))
      else spans.set(name, span)
      at = span.start + Math.ceil(bytes / blockBytes) * blockBytes
    }
    throw invalidBackup(path, 'it was cut off')
  })
}

/** Reads a database or a file of an archive from the backup, in chunks. Throws if a byte differs from what was backed up. */
export function readFromBackup(
  { path }: Backup,
  { start, bytes, sha256 }: { start: number; bytes: number; sha256: string },
  what: string,
  take: (chunk: Uint8Array) => void = () => {},
): void {
  const found = withFile(path, (file) => forEachChunk({ file, start, bytes }, take))
  if (found !== sha256) throw invalidBackup(path, `the ${what} in it has changed`)
}

interface FileSpan {
  file: number
  start: number
  bytes: number
}

function checkedBackup(
  path: string,
  { format, at, version, workspaces }: BackupManifest,
  spans: Map<string, FileSpan>,
  notes: Map<string, BackupWorkspaceDescription>,
): Backup {
  if (!formats.includes(format))
    throw invalidBackup(
      path,
      `its format is ${format}, and this Agent Relay knows format ${formats.at(-1)}. Update this one`,
    )
  if (!Array.isArray(workspaces) || Number.isNaN(Date.parse(at)))
    throw invalidBackup(path, 'its backup.json is not one')
  const kept = workspaces.map((name): WorkspaceInBackup => {
    const [span, note] = [spans.get(`${name}/relay.db`), notes.get(name)]
    const wrong = invalidBackup(path, `what it says of ${JSON.stringify(name)} is not so`)
    if (!span || !note || note.name !== name || note.bytes !== span.bytes || !isWellFormed(note)) throw wrong
    const archive = (note.archive ?? []).map(({ file, bytes, sha256 }) => {
      const part = spans.get(`${name}/archive/${file}`)
      if (!part || part.bytes !== bytes || !isArchiveFile(file) || !digest.test(sha256)) throw wrong
      return { file, bytes, sha256, start: part.start }
    })
    return { ...note, start: span.start, archive }
  })
  return { path, format, at, version: String(version), workspaces: kept }
}

/** Whether the fields of a workspace's description have their proper form: they are shown to a person, and the backup may come from anybody. */
function isWellFormed({ id, key, sha256, messages, seq, schema, archive = [] }: BackupWorkspaceDescription): boolean {
  const is = (pattern: RegExp, text: unknown) => typeof text === 'string' && pattern.test(text)
  const isText = is(workspaceId, id) && is(digest, sha256) && (key === undefined || is(secret, key))
  const isList = Array.isArray(archive) && archive.every((each) => typeof each === 'object' && each !== null)
  return isText && isList && [messages, seq, schema].every((number) => Number.isSafeInteger(number))
}

function withFile<T>(path: string, work: (file: number) => T): T {
  const file = openSync(path, 'r')
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

function readJsonAt<T>({ file, start, bytes }: FileSpan, path: string): T {
  if (bytes > jsonBytesMax) throw invalidBackup(path, 'a note in it is too long')
  try {
    const note = parseJson(readBytesAt(file, start, bytes).toString('utf8'))
    if (typeof note === 'object' && note !== null) return note as T
  } catch (error) {
    if (error instanceof JsonDepthError) throw invalidBackup(path, `a note in it is ${error.message}`)
  }
  throw invalidBackup(path, 'a note in it is not JSON')
}

function readBytesAt(file: number, start: number, bytes: number): Buffer {
  const text = Buffer.alloc(bytes)
  return text.subarray(0, readSync(file, text, 0, bytes, start))
}

/** Reads a range of a file in chunks and passes each to `take`. Returns the SHA-256 of all bytes. */
function forEachChunk({ file, start, bytes }: FileSpan, take: (chunk: Uint8Array) => void): string {
  const [hash, chunk] = [createHash('sha256'), Buffer.alloc(chunkBytes)]
  for (let done = 0; done < bytes; ) {
    const read = readSync(file, chunk, 0, Math.min(chunkBytes, bytes - done), start + done)
    if (read === 0) break
    hash.update(chunk.subarray(0, read))
    take(chunk.subarray(0, read))
    done += read
  }
  return hash.digest('hex')
}

export function writeAllBytes(file: number, data: Uint8Array): void {
  for (let done = 0; done < data.length; ) done += writeSync(file, data, done)
}

/**
 * Makes a tar header. `folder` goes into the header's field `prefix`, since the field for the name alone would be too short for the names of a workspace and of
 * its archive's file.
 */
function tarHeaderOf(name: string, bytes: number, folder = ''): Buffer {
  const head = Buffer.alloc(blockBytes)
  head.write(name, 0)
  head.write('0000600\0', 100)
  for (const at of [108, 116]) head.write('0000000\0', at)
  if (bytes <= octalMax) head.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124)
  else {
    head.writeUInt8(0x80, 124)
    head.writeBigUInt64BE(BigInt(bytes), 128)
  }
  head.write(
    `${Math.floor(Date.now() / 1_000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  )
  head.write('0', 156)
  head.write('ustar\u000000', 257)
  head.write(folder, 345)
  head.write(`${checksumOf(head).toString(8).padStart(6, '0')}\0 `, 148)
  return head
}

/** The checksum of a tar header, in which the checksum's own field counts as spaces. */
function checksumOf(head: Buffer): number {
  const own = head.subarray(148, 156).reduce((sum, byte) => sum + byte, 0)
  return head.reduce((sum, byte) => sum + byte, 0) - own + 8 * 32
}

function tarMemberOf(head: Buffer, path: string): { name: string; bytes: number } {
  const field = (from: number, to: number) => head.toString('utf8', from, to).replace(/\0.*$/s, '')
  if (
    head.length < blockBytes ||
    field(257, 262) !== 'ustar' ||
    Number.parseInt(field(148, 156), 8) !== checksumOf(head)
  )
    throw invalidBackup(path, 'it is no archive that `agent-relay workspace backup` made')
  const isLarge = head.readUInt8(124) === 0x80
  const bytes = isLarge ? Number(head.readBigUInt64BE(128)) : Number.parseInt(field(124, 136), 8)
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw invalidBackup(path, 'a size in it is not a number')
  const folder = field(345, 500)
  return { name: folder === '' ? field(0, 100) : `${folder}/${field(0, 100)}`, bytes }
}

function paddingOf(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes)
}

export function invalidBackup(path: string, why: string): RefusalError {
  return new RefusalError('file.invalid', { path, what: 'a whole backup', why })
}
