// Tells listeners that journal entries were committed. Such a hint is never the truth: a listener reads the tables, so losing a hint loses nothing.

import type { Entry } from '@agent-relay/sdk/protocol'

export type EntryListener = (entries: Entry[]) => void

export class Hub {
  readonly #onTrouble: (error: Error) => void
  readonly #listeners = new Set<EntryListener>()

  constructor(onTrouble: (error: Error) => void) {
    this.#onTrouble = onTrouble
  }

  listen(listener: EntryListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(entries: Entry[]): void {
    tellEach(this.#listeners, entries, this.#onTrouble)
  }
}

/** Tells each listener. A listener that fails, by a damaged page of the database for example, has only lost a hint; the others are still told. */
export function tellEach<T>(listeners: Iterable<(news: T) => void>, news: T, onTrouble: (error: Error) => void): void {
  for (const listener of listeners) {
    try {
      listener(news)
    } catch (error) {
      onTrouble(error as Error)
    }
  }
}
