// The limits by which an unused workspace is put to rest (closed until somebody uses it), and a counter that frees the files of closed databases.

import { freeClosedFiles } from '../store/database.ts'

export interface RestLimits {
  /** A workspace that nobody has used for this time, in ms, is closed. */
  idleMs: number
  /** If more than this many open workspaces are unused, those that were used longest ago are closed at once. */
  unusedMax: number
  /** Once this many databases were closed, their files are freed. With fewer, they are freed some time later. */
  closedMax: number
  /** Maximum number of tokens in a workspace that is closed for lack of use: their hashes stay in memory. A workspace with more tokens is not closed. */
  tokensMax: number
}

export const defaultRestLimits: Readonly<RestLimits> = {
  idleMs: 5 * 60_000,
  unusedMax: 8,
  closedMax: 16,
  tokensMax: 10_000,
}

/**
 * Counts closed databases, and frees their files once there are many, or some time later: the SQLite driver may keep a closed file open until a garbage
 * collection.
 */
export class ClosedDatabases {
  readonly #max: number
  #count = 0
  #isDue = false

  constructor(max: number) {
    this.#max = max
  }

  add(): void {
    this.#count++
  }

  freeIfMany(): void {
    if (this.#count >= this.#max) void this.free()
  }

  /** Frees the files of databases closed since the last call, and once more at the next call, for files that were still in use. */
  freeIfAny(): void {
    if (this.#count > 0 || this.#isDue) void this.free()
  }

  async free(): Promise<void> {
    this.#isDue = this.#count > 0
    this.#count = 0
    await new Promise(setImmediate)
    await freeClosedFiles()
    await new Promise(setImmediate)
  }
}
