// Keeps the ids of the messages that this client has shown to its program, and marks those messages as read at the daemon in batches. client.ts reports what
// was shown.

import type { ClientLimits } from '../limits.ts'

export interface ReadMarksOptions {
  limits: Pick<ClientLimits, 'shownMax' | 'readBatchMs' | 'readBatchMax'>
  /** Marks these messages as read at the daemon. */
  markRead(ids: string[]): Promise<unknown>
  onError(error: unknown): void
}

export class ReadMarks {
  readonly #options: ReadMarksOptions
  /** The ids of the shown messages, oldest first, so that the oldest id can be dropped. */
  readonly #shown = new Set<string>()
  readonly #unsentMarks = new Set<string>()
  #timer?: ReturnType<typeof setTimeout>
  #storing?: Promise<void>

  constructor(options: ReadMarksOptions) {
    this.#options = options
  }

  /**
   * Remembers a message as shown. Returns false if it was shown before: after a crash the daemon may hand out a message again, and the client hides the repeat.
   */
  rememberShown(id: string): boolean {
    if (this.#shown.has(id)) return false
    this.#shown.add(id)
    if (this.#shown.size > this.#options.limits.shownMax) {
      for (const oldest of this.#shown) {
        this.#shown.delete(oldest)
        break
      }
    }
    return true
  }

  /** Marks a message as read soon, in one call together with other messages. */
  markSoon(id: string): void {
    this.#unsentMarks.add(id)
    if (this.#unsentMarks.size >= this.#options.limits.readBatchMax) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), this.#options.limits.readBatchMs)
  }

  /**
   * Marks the waiting messages as read, batch by batch, and resolves when none is left. A failed batch is not sent again: the daemon hands out its messages
   * again, and the client then hides them and marks them once more.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#unsentMarks.size === 0) return this.#storing ?? Promise.resolve()
    this.#storing ??= this.#store()
    return this.#storing
  }

  async #store(): Promise<void> {
    while (this.#unsentMarks.size > 0) {
      const ids = [...this.#unsentMarks].slice(0, this.#options.limits.readBatchMax)
      for (const id of ids) this.#unsentMarks.delete(id)
      try {
        await this.#options.markRead(ids)
      } catch (error) {
        this.#options.onError(error)
      }
    }
    this.#storing = undefined
  }
}
