// When a workspace that nobody uses is put to rest, and what its database leaves behind in the process after it was closed.

import { freeClosed } from '../store/database.ts'

export interface RestLimits {
  /** A workspace that nobody has used for this long is closed ... */
  idleMs: number
  /** ... and at once, if more than this many are open and unused: the one that was used longest ago first. */
  unusedMax: number
  /** After this many were closed, what they leave behind is freed; of fewer, some time later. */
  closedMax: number
  /** Tokens of a workspace at rest are remembered by their hashes. One that has more stays open. */
  tokensMax: number
}

export const restLimits: Readonly<RestLimits> = { idleMs: 5 * 60_000, unusedMax: 8, closedMax: 16, tokensMax: 10_000 }

/** It is freed once there are many, or some time later. */
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

  /** Once more after the last: what somebody still held then has been let go of by now. */
  freeIfAny(): void {
    if (this.#count > 0 || this.#isDue) void this.free()
  }

  async free(): Promise<void> {
    this.#isDue = this.#count > 0
    this.#count = 0
    await new Promise(setImmediate)
    await freeClosed()
    await new Promise(setImmediate)
  }
}
