// What the careful edit keeps in the owner's data directory: how each change is turned back, and the file as it was before the first one.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { Change } from './change.ts'
import type { Slot } from './format.ts'

export interface WayBack extends Change {
  v: 1
  file: string
  path: readonly string[]
  slot: Slot
  /** Of the file after the change: equal means that nobody has touched it since. */
  hash: string
  /** There was no file. */
  isNew: boolean
  /** The first of the directories that were made for it. */
  madeDirectory?: string
  /** How many keys of the path were made, and go again when they are left empty. */
  madeKeys: number
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** May hold the user's own text, secrets among it: readable by the owner alone. */
export class Records {
  readonly #folder: string

  constructor(env: Env) {
    this.#folder = join(dataDir(env), 'install')
  }

  read(file: string, path: readonly string[], slot: Slot): WayBack | undefined {
    const record = read(this.#path(file, path, slot))
    return record?.file === file ? record : undefined
  }

  write(record: WayBack): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const { file, path, slot } = record
    writeFileSync(this.#path(file, path, slot), `${JSON.stringify(record)}\n`, { mode: 0o600 })
  }

  remove({ file, path, slot }: WayBack): void {
    rmSync(this.#path(file, path, slot), { force: true })
  }

  /** Once, before the first change: then there is nothing of ours in it. */
  backUp(file: string, bytes: Buffer): void {
    if (this.#all().some((record) => record.file === file)) return
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    writeFileSync(this.backupPath(file), bytes, { mode: 0o600 })
  }

  #all(): WayBack[] {
    if (!existsSync(this.#folder)) return []
    return readdirSync(this.#folder).flatMap((name) => {
      const record = name.endsWith('.json') ? read(join(this.#folder, name)) : undefined
      return record ? [record] : []
    })
  }

  backupPath(file: string): string {
    return join(this.#folder, `${hashOf(file).slice(0, 16)}.before`)
  }

  #path(file: string, path: readonly string[], slot: Slot): string {
    return join(this.#folder, `${hashOf(JSON.stringify([file, path, slot])).slice(0, 16)}.json`)
  }
}

/** Undefined for a record that cannot be read: the entry can be taken out without it. */
function read(path: string): WayBack | undefined {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as WayBack
    return record.v === 1 ? record : undefined
  } catch {
    return undefined
  }
}
