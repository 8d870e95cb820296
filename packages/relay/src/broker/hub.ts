// Who is told when entries were committed. A hint, never the truth: the told one reads the tables, and losing a hint loses nothing.

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

  /** One that fails has lost a hint. What was committed stands, and the others and who asked for it are told. */
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
