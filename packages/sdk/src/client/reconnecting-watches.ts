// The watches of a client across its connections: sets them all up on each new connection, and sets a watch up again if the daemon has ended it.

import { ConnectionError, RelayError } from '../errors.ts'
import type { Link } from '../link.ts'
import type { Ids } from '../protocol/ids.ts'
import type { InputOf, OutputOf, WatchName } from '../protocol/operations.ts'

export interface Follower<T> {
  /** Makes the input of the watch. Called each time the watch is set up, because the number from which it resumes has grown meanwhile. */
  input(): unknown
  established(seq: number): void
  item(item: T): void
  /** Called when the watch is over and will not be set up again. */
  failed(error: RelayError): void
}

interface LastingWatch {
  op: WatchName
  follower: Follower<unknown>
  /** The id of the watch on the current connection. Unset while it is not set up. */
  id?: string
}

export class ReconnectingWatches {
  readonly #ids: Ids
  readonly #againMs: number
  readonly #watches = new Set<LastingWatch>()
  #link?: Link

  constructor(ids: Ids, againMs: number) {
    this.#ids = ids
    this.#againMs = againMs
  }

  /** Sets a watch up at once, or as soon as there is a connection. The returned function ends the watch. */
  add<O extends WatchName>(op: O, follower: Follower<OutputOf<O>>): () => void {
    const watch: LastingWatch = { op, follower: follower as Follower<unknown> }
    this.#watches.add(watch)
    if (this.#link) this.#establish(watch, this.#link)
    return () => {
      this.#watches.delete(watch)
      if (watch.id) this.#link?.unwatch(watch.id)
    }
  }

  /** Sets up all watches on a new connection. */
  setUpOn(link: Link): void {
    this.#link = link
    for (const watch of [...this.#watches]) this.#establish(watch, link)
  }

  /** Forgets the connection after it was lost; the watches stay, to be set up on the next one. */
  forgetConnection(): void {
    this.#link = undefined
    for (const watch of this.#watches) watch.id = undefined
  }

  clear(): void {
    this.#watches.clear()
  }

  #establish(watch: LastingWatch, link: Link): void {
    const id = this.#ids('w')
    const { op, follower } = watch
    watch.id = id
    const current = (): boolean => watch.id === id && this.#watches.has(watch)
    const over = (error: RelayError): void => {
      // Keeps the watch if the workspace's key is replaced while the watch is being set up: that ends the session, and the next attempt to connect shows
      // whether the client's key is valid.
      if (!current() || isConnectionLoss(error) || error.code === 'auth.revoked') return
      watch.id = undefined
      if (error.retry) {
        this.#establishLater(watch, link)
        return
      }
      this.#watches.delete(watch)
      follower.failed(error)
    }
    const sink = {
      item: (item: unknown) => {
        if (current()) follower.item(item)
      },
      end: (refusal: { code: string; message: string; retry: boolean }) =>
        over(new RelayError(refusal.message, refusal)),
    }
    link.watch(op, follower.input() as InputOf<WatchName>, id, sink).then(({ seq }) => {
      if (current()) follower.established(seq)
    }, over)
  }

  /**
   * Sets up again a watch that the daemon has ended, for instance because the client read too slowly. Waits `#againMs` first, so that a watch that is ended at
   * once does not loop without rest.
   */
  #establishLater(watch: LastingWatch, link: Link): void {
    setTimeout(() => {
      if (this.#link === link && this.#watches.has(watch)) this.#establish(watch, link)
    }, this.#againMs)
  }
}

/** Whether a call ended because its connection was lost. The refusal `daemon.stopping` counts too: a stopping daemon sends it for calls that it did not run. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof RelayError && error.code === 'daemon.stopping')
}
