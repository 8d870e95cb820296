// Pins keep a workspace open for callers that have no session in it. The pin is set by name before the workspace is opened, so that it cannot be closed before
// the caller uses it.

export class WorkspacePins {
  readonly #counts = new Map<string, number>()

  isPinned(name: string): boolean {
    return this.#counts.has(name)
  }

  /** Keeps the workspace open until the returned function is called. Calling that function twice does no harm. */
  pin(name: string, released: () => void): () => void {
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
