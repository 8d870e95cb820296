// Stores, in the data directory, how each edit of another program's configuration file is undone, and a copy of the file from before the first edit.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { TextChange } from './change.ts'
import type { EntrySlot } from './format.ts'

export interface EditRecord extends TextChange {
  v: 1
  file: string
  path: readonly string[]
  slot: EntrySlot
  /** SHA-256 of the file after the edit. If the file still has this hash, nobody has changed it since. */
  hash: string
  /** Whether the edit created the file. */
  isNew: boolean
  /** The outermost directory that was created for the file, if any. */
  madeDirectory?: string
  /** The number of containers on the entry's path that the edit created. They are removed with the entry if they are empty then. */
  madeKeys: number
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The stored records. They may hold the user's own text, secrets among it, so only the owner can read them. */
export class EditRecords {
  readonly #folder: string

  constructor(env: Env) {
    this.#folder = join(dataDir(env), 'install')
  }

  read(file: string, path: readonly string[], slot: EntrySlot): EditRecord | undefined {
    const record = readRecord(this.#path(file, path, slot))
    return record?.file === file ? record : undefined
  }

  write(record: EditRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const { file, path, slot } = record
    writeFileSync(this.#path(file, path, slot), `${JSON.stringify(record)}\n`, { mode: 0o600 })
  }

  remove({ file, path, slot }: EditRecord): void {
    rmSync(this.#path(file, path, slot), { force: true })
  }

  /** Keeps a copy of the file, unless an edit of the file is recorded already: the copy must contain nothing of ours. */
  backUp(file: string, bytes: Buffer): void {
    if (this.#all().some((record) => record.file === file)) return
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    writeFileSync(this.backupPath(file), bytes, { mode: 0o600 })
  }

  #all(): EditRecord[] {
    if (!existsSync(this.#folder)) return []
    return readdirSync(this.#folder).flatMap((name) => {
      const record = name.endsWith('.json') ? readRecord(join(this.#folder, name)) : undefined
      return record ? [record] : []
    })
  }

  backupPath(file: string): string {
    return join(this.#folder, `${hashOf(file).slice(0, 16)}.before`)
  }

  #path(file: string, path: readonly string[], slot: EntrySlot): string {
    return join(this.#folder, `${hashOf(JSON.stringify([file, path, slot])).slice(0, 16)}.json`)
  }
}

/** Reads one record; undefined if it cannot be read, since an entry can be removed without its record. */
function readRecord(path: string): EditRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as EditRecord
    return record.v === 1 ? record : undefined
  } catch {
    return undefined
  }
}
