// The messages that this client has shown to its program, and the read marks that it has not sent to the daemon yet. client.ts passes the messages in.

import type { ClientLimits } from '../limits.ts'

export interface ReadMarksOptions {
  limits: Pick<ClientLimits, 'shownMax' | 'readBatchMs' | 'readBatchMax'>
  /** Sends read marks for these messages to the daemon. */
  markRead(ids: string[]): Promise<unknown>
  onError(error: unknown): void
}

export class ReadMarks {
  readonly #options: ReadMarksOptions
  /** The ids of the shown messages in the order shown, so that the oldest can be forgotten first. */
  readonly #shown = new Set<string>()
  readonly #unsentMarks = new Set<string>()
  #timer?: ReturnType<typeof setTimeout>
  #storing?: Promise<void>

  constructor(options: ReadMarksOptions) {
    this.#options = options
  }

  /**
   * Remembers a message as shown. Returns whether the message was not shown before: after a crash the daemon may hand out a message again, and the client hides
   * the repeat.
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

  /** Marks a message as read soon, together with other messages. */
  markSoon(id: string): void {
    this.#unsentMarks.add(id)
    if (this.#unsentMarks.size >= this.#options.limits.readBatchMax) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), this.#options.limits.readBatchMs)
  }

  /**
   * Sends all outstanding read marks, one batch at a time, and resolves when none is left. Failed marks are not kept: their messages come again, and are
   * hidden.
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
