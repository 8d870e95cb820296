// The messages that this client has shown to its program, and the read marks for them that it still owes the daemon. Messages come from client.ts.

import type { ClientLimits } from '../limits.ts'

export interface ReadMarksOptions {
  limits: Pick<ClientLimits, 'shownMax' | 'readBatchMs' | 'readBatchMax'>
  /** Stores read marks. */
  markRead(ids: string[]): Promise<unknown>
  onError(error: unknown): void
}

export class ReadMarks {
  readonly #options: ReadMarksOptions
  /** Ids of messages in the order shown, so that the oldest is forgotten first. */
  readonly #shown = new Set<string>()
  readonly #owed = new Set<string>()
  #timer?: ReturnType<typeof setTimeout>
  #storing?: Promise<void>

  constructor(options: ReadMarksOptions) {
    this.#options = options
  }

  /** True the first time a message is shown. A message may be handed out again after a crash, and is hidden then. */
  show(id: string): boolean {
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

  /** Marks a message read soon, together with others. */
  owe(id: string): void {
    this.#owed.add(id)
    if (this.#owed.size >= this.#options.limits.readBatchMax) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), this.#options.limits.readBatchMs)
  }

  /** Resolves when no mark is owed any more; stores one batch at a time. Marks that fail are not kept: their messages come again, hidden. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#owed.size === 0) return this.#storing ?? Promise.resolve()
    this.#storing ??= this.#store()
    return this.#storing
  }

  async #store(): Promise<void> {
    while (this.#owed.size > 0) {
      const ids = [...this.#owed].slice(0, this.#options.limits.readBatchMax)
      for (const id of ids) this.#owed.delete(id)
      try {
        await this.#options.markRead(ids)
      } catch (error) {
        this.#options.onError(error)
      }
    }
    this.#storing = undefined
  }
}
