// Pins: whoever needs a workspace open, and has no session in it yet, pins it by its name. It is pinned before it is opened, so that whoever
// waits for that finds it open.

export class WorkspacePins {
  readonly #counts = new Map<string, number>()

  has(name: string): boolean {
    return this.#counts.has(name)
  }

  /** Until the answered function is called; a second call of it changes nothing. */
  take(name: string, released: () => void): () => void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    let isPinned = true
    return () => {
      if (!isPinned) return
      isPinned = false
      const left = (this.#counts.get(name) as number) - 1
      if (left > 0) this.#counts.set(name, left)
      else this.#counts.delete(name)
      released()
    }
  }
}
