// Tells listeners that journal entries were committed. A listener takes this only as a hint to read the tables, so a lost hint loses no data.

import type { Entry } from '@agent-relay/sdk/protocol'

export type EntryListener = (entries: Entry[]) => void

export class EntryHub {
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
    notifyEach(this.#listeners, entries, this.#onTrouble)
  }
}

/** Calls each listener. If one throws, for example because of a damaged database page, the error is reported and the others are still called. */
export function notifyEach<T>(
  listeners: Iterable<(news: T) => void>,
  news: T,
  onTrouble: (error: Error) => void,
): void {
  for (const listener of listeners) {
    try {
      listener(news)
    } catch (error) {
      onTrouble(error as Error)
    }
  }
}
