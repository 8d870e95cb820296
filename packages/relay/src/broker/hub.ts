// Who is told when entries were committed. A hint, never the truth: the told one reads the tables, and losing a hint loses nothing.

import type { Entry } from '@agent-relay/sdk/protocol'

export type Listener = (entries: Entry[]) => void

export class Hub {
  readonly #listeners = new Set<Listener>()

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(entries: Entry[]): void {
    for (const listener of this.#listeners) listener(entries)
  }
}
