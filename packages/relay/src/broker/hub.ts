// Tells listeners that entries were committed. This is a hint and never the truth: a listener reads the tables, so losing a hint loses nothing.

import type { Entry } from '@agent-relay/sdk/protocol'

export type Listener = (entries: Entry[]) => void

export class Hub {
  readonly #onTrouble: (error: Error) => void
  readonly #listeners = new Set<Listener>()

  constructor(onTrouble: (error: Error) => void) {
    this.#onTrouble = onTrouble
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A listener that fails has lost a hint. What was committed stands, and the other listeners and the sender are still told. */
  tell(entries: Entry[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(entries)
      } catch (error) {
        this.#onTrouble(error as Error)
      }
    }
  }
}
