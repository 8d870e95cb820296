// When an unused workspace is put to rest, and how the files of its closed database are freed.

import { freeClosedFiles } from '../store/database.ts'

export interface RestLimits {
  /** A workspace that nobody has used for this long is closed. */
  idleMs: number
  /** If more than this many workspaces are open and unused, the one that was used longest ago is closed at once. */
  unusedMax: number
  /** After this many databases were closed, their files are freed; after fewer, some time later. */
  closedMax: number
  /** A workspace at rest keeps its tokens' hashes in memory. One with more tokens than this stays open. */
  tokensMax: number
}

export const defaultRestLimits: Readonly<RestLimits> = {
  idleMs: 5 * 60_000,
  unusedMax: 8,
  closedMax: 16,
  tokensMax: 10_000,
}

/** Counts closed databases, and frees their files once there are many, or some time later. The SQLite driver may keep them open until garbage is collected. */
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

  /** Frees the files of closed databases, and once more after that: files that were still in use the last time are free by then. */
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
