// A cache of things that may be in use. A thing that is not used for `idleMs` is ended; if there are too many, the one that was unused longest is.

export interface KeeperOptions<T> {
  /** The time after which an unused thing is ended. */
  idleMs: number
  /** Maximum number of things. */
  countMax: number
  end(thing: T): void
}

interface KeptThing<T> {
  thing: T
  users: number
  timer?: ReturnType<typeof setTimeout>
}

export class Keeper<T> {
  readonly #options: KeeperOptions<T>
  /** Things in the order of their last use. */
  readonly #kept = new Map<string, KeptThing<T>>()

  constructor(options: KeeperOptions<T>) {
    this.#options = options
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): T | undefined {
    return this.#kept.get(key)?.thing
  }

  /** Keeps the thing. False if all others are in use, so that none can make room. */
  put(key: string, thing: T): boolean {
    if (this.#kept.size >= this.#options.countMax && !this.#makeRoom()) return false
    const kept = { thing, users: 0 }
    this.#kept.set(key, kept)
    this.#startIdleTimer(key, kept)
    return true
  }

  /** Marks the thing as in use until the returned function is called. */
  markInUse(key: string): () => void {
    const kept = this.#kept.get(key)
    if (!kept) return () => {}
    kept.users++
    clearTimeout(kept.timer)
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    let isDone = false
    return () => {
      if (isDone) return
      isDone = true
      kept.users--
      if (this.#kept.get(key) === kept) this.#startIdleTimer(key, kept)
    }
  }

  /** Ends the thing with this map key at once; does nothing if the key has another thing. */
  endNow(key: string, thing?: T): void {
    const kept = this.#kept.get(key)
    if (!kept || (thing !== undefined && kept.thing !== thing)) return
    clearTimeout(kept.timer)
    this.#kept.delete(key)
    this.#options.end(kept.thing)
  }

  clear(): void {
    for (const key of [...this.#kept.keys()]) this.endNow(key)
  }

  #startIdleTimer(key: string, kept: KeptThing<T>): void {
    clearTimeout(kept.timer)
    if (kept.users > 0) return
    kept.timer = setTimeout(() => this.endNow(key, kept.thing), this.#options.idleMs)
    kept.timer.unref?.()
  }

  #makeRoom(): boolean {
    for (const [key, { users }] of this.#kept) {
      if (users > 0) continue
      this.endNow(key)
      return true
    }
    return false
  }
}
