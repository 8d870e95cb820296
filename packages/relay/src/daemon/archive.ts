// The archive of a workspace: files in its folder `archive`, one for each pruning, with the events that were deleted from the journal. A file is gzip with one
// event per line, as `agent-relay workspace export --events` writes them, plus its body and payload. Each slice of a pruning is compressed by itself and
// appended; together the slices are one valid gzip file.

import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createGunzip, gunzipSync, gzip } from 'node:zlib'
import type { RelayEvent } from '@agent-relay/sdk'
import { recordingLine } from '@agent-relay/sdk/internal/client'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { syncFolder } from '../machine/sync.ts'
import { readArchiveRecords } from '../store/contents.ts'
import type { PrunedFact } from '../store/pruning.ts'

const compress = promisify(gzip)

export const archiveFolder = 'archive'

/**
 * An event with its large parts. `body`: input or output of an action's call, the whole input of an approval, or a worker's last screen. `payload`: the result
 * of a run, as gzip in base64.
 */
export type ArchivedEvent = RelayEvent & { body?: string; payload?: string }

export class ArchiveFile {
  readonly name: string
  readonly #file: FileHandle
  #bytes = 0

  private constructor(name: string, file: FileHandle) {
    this.name = name
    this.#file = file
  }

  /** Creates a file that only the user can read. Its directory entry is synced, so the file is on disk before any event is deleted from the journal. */
  static async create(workspaceFolder: string, at: number): Promise<ArchiveFile> {
    const folder = join(workspaceFolder, archiveFolder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    syncFolder(workspaceFolder)
    const name = `${new Date(at).toISOString().replaceAll(':', '-')}.jsonl.gz`
    const file = await open(join(folder, name), 'wx', 0o600)
    syncFolder(folder)
    return new ArchiveFile(name, file)
  }

  /** Appends events, and syncs the file. Returns its length in bytes. */
  async append(gone: readonly PrunedFact[]): Promise<number> {
    const bytes = await compress(gone.map(archiveLineOf).join(''))
    for (let done = 0; done < bytes.length; )
      done += (await this.#file.write(bytes, done, bytes.length - done, this.#bytes + done)).bytesWritten
    await this.#file.datasync()
    this.#bytes += bytes.length
    return this.#bytes
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

function archiveLineOf({ entry, fact, message, body, payload }: PrunedFact): string {
  const { type, ...rest } = fact
  const head = { seq: entry.seq, ts: new Date(entry.at).toISOString(), by: entry.by, type, fact: rest }
  const event = {
    ...head,
    ...(message ? { message } : {}),
    ...(body === undefined ? {} : { body }),
    ...(payload ? { payload: Buffer.from(payload).toString('base64') } : {}),
  }
  return recordingLine(event as ArchivedEvent, false)
}

/** Yields all events of an archive, file after file. If the daemon was killed while it wrote a file, its complete events are yielded. */
export async function* archivedEvents(workspaceFolder: string): AsyncGenerator<ArchivedEvent> {
  const folder = join(workspaceFolder, archiveFolder)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl.gz')) : []
  for (const name of names.sort()) yield* eventsIn(join(folder, name))
}

async function* eventsIn(path: string): AsyncGenerator<ArchivedEvent> {
  const [file, text] = [createReadStream(path), createGunzip()]
  file.once('error', (error) => text.destroy(error))
  let rest = ''
  try {
    for await (const chunk of file.pipe(text).setEncoding('utf8')) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() as string
      for (const line of lines) yield parseJson(line) as ArchivedEvent
    }
  } catch (error) {
    // Z_BUF_ERROR: the gzip data ends early, because the daemon was killed while it wrote the file.
    if ((error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw error
  }
}

/**
 * Returns the bodies of the messages that were pruned from a database. Only those bytes of each file are read that the database has recorded: later ones belong
 * to an interrupted pruning, whose messages are still in the database.
 */
export function readArchivedBodies(databasePath: string): string[] {
  return readArchiveRecords(databasePath).flatMap(({ file, bytes }) => {
    const path = join(dirname(databasePath), archiveFolder, file)
    const lines = gunzipSync(readFileSync(path).subarray(0, bytes)).toString().split('\n').slice(0, -1)
    const events = lines.map((line) => parseJson(line) as ArchivedEvent)
    return events.flatMap(({ type, message }) => (type === 'message.created' && message ? [message.body] : []))
  })
}
