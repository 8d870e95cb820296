// A value that components can watch: the whole state library of the page.

import { useCallback, useSyncExternalStore } from 'react'

export class Cell<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  update(change: (value: T) => T): void {
    this.set(change(this.#value))
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function useCell<T>(cell: Cell<T>): T {
  const listen = useCallback((listener: () => void) => cell.listen(listener), [cell])
  return useSyncExternalStore(listen, () => cell.value)
}
