// Work that is done one after another.

/** Runs the work of each key in the order in which it came. Work that fails does not keep the next from being done. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work, work)
    const forget = () => this.#last.get(key) === done && this.#last.delete(key)
    this.#last.set(key, done)
    done.then(forget, forget)
    return done
  }

  /** Resolves when no work of this key is under way. */
  async whenFree(key: string): Promise<void> {
    while (this.#last.has(key)) await this.#last.get(key)
  }
}
