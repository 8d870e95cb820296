// A small typed event emitter, so that the client needs no `node:` import. Unlike in Node, an 'error' event without a listener is dropped and not thrown.

// biome-ignore lint/suspicious/noExplicitAny: the type of every listener; `unknown` would refuse them all.
type Listener = (...args: any[]) => void

export class Emitter<Events extends { [E in keyof Events]: Listener }> {
  readonly #listeners = new Map<keyof Events, Listener[]>()

  on<E extends keyof Events>(event: E, listener: Events[E]): this {
    this.#set(event, [...this.#of(event), listener])
    return this
  }

  once<E extends keyof Events>(event: E, listener: Events[E]): this {
    const wrapped: Listener = Object.assign(
      (...args: unknown[]) => {
        this.off(event, wrapped as Events[E])
        listener(...args)
      },
      { listener },
    )
    return this.on(event, wrapped as Events[E])
  }

  off<E extends keyof Events>(event: E, listener: Events[E]): this {
    const list = this.#of(event)
    const at = list.findLastIndex((one) => one === listener || (one as { listener?: Listener }).listener === listener)
    if (at >= 0) this.#set(event, list.toSpliced(at, 1))
    return this
  }

  listenerCount(event: keyof Events): number {
    return this.#of(event).length
  }

  emit<E extends keyof Events>(event: E, ...args: Parameters<Events[E]>): void {
    for (const listener of this.#of(event)) runGuarded(() => listener(...args))
  }

  /** Called after a listener was added or removed, with the event's number of listeners. */
  protected listenersChanged(_event: keyof Events, _count: number): void {}

  #of(event: keyof Events): Listener[] {
    return this.#listeners.get(event) ?? []
  }

  #set(event: keyof Events, list: Listener[]): void {
    this.#listeners.set(event, list)
    this.listenersChanged(event, list.length)
  }
}

/**
 * Runs a callback of the program that uses this package. An error in it is thrown later, in a microtask, so that the code that reads the connection goes on.
 */
export function runGuarded(callback: () => void): void {
  try {
    callback()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
