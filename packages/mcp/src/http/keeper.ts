// Keeps things while they are used. A thing that was unused for a while is ended, and if there are too many, the one that was unused longest.

export interface KeeperOptions<T> {
  /** The time after which an unused thing is ended. */
  idleMs: number
  /** The most things at once. */
  countMax: number
  end(thing: T): void
}

interface Kept<T> {
  thing: T
  users: number
  timer?: ReturnType<typeof setTimeout>
}

export class Keeper<T> {
  readonly #options: KeeperOptions<T>
  /** Things in the order of their last use. */
  readonly #kept = new Map<string, Kept<T>>()

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
    this.#rest(key, kept)
    return true
  }

  /** Marks the thing as in use until the returned function is called. */
  use(key: string): () => void {
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
      if (this.#kept.get(key) === kept) this.#rest(key, kept)
    }
  }

  /** Ends the thing now, unless the key stands for another one by now. */
  drop(key: string, thing?: T): void {
    const kept = this.#kept.get(key)
    if (!kept || (thing !== undefined && kept.thing !== thing)) return
    clearTimeout(kept.timer)
    this.#kept.delete(key)
    this.#options.end(kept.thing)
  }

  clear(): void {
    for (const key of [...this.#kept.keys()]) this.drop(key)
  }

  #rest(key: string, kept: Kept<T>): void {
    clearTimeout(kept.timer)
    if (kept.users > 0) return
    kept.timer = setTimeout(() => this.drop(key, kept.thing), this.#options.idleMs)
    kept.timer.unref?.()
  }

  #makeRoom(): boolean {
    for (const [key, { users }] of this.#kept) {
      if (users > 0) continue
      this.drop(key)
      return true
    }
    return false
  }
}
