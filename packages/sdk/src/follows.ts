// The watches that a client wants to stand whatever happens to its links: set up on each new link, and again when the daemon cut one off.

import { ConnectionError, RelayError } from './errors.ts'
import type { Link } from './link.ts'
import type { Ids } from './protocol/ids.ts'
import type { InputOf, OutputOf, WatchName } from './protocol/operations.ts'

export interface Follower<T> {
  /** Asked anew each time the watch is set up: where to resume from moves on. */
  input(): unknown
  established(seq: number): void
  item(item: T): void
  /** The watch is over and will not be set up again. */
  failed(error: RelayError): void
}

interface Standing {
  op: WatchName
  follower: Follower<unknown>
  /** Of the watch on the current link. */
  id?: string
}

export class Follows {
  readonly #ids: Ids
  readonly #againMs: number
  readonly #standing = new Set<Standing>()
  #link?: Link

  constructor(ids: Ids, againMs: number) {
    this.#ids = ids
    this.#againMs = againMs
  }

  /** Set up at once, or as soon as there is a link; stands until the answered function is called. */
  add<O extends WatchName>(op: O, follower: Follower<OutputOf<O>>): () => void {
    const standing: Standing = { op, follower: follower as Follower<unknown> }
    this.#standing.add(standing)
    if (this.#link) this.#establish(standing, this.#link)
    return () => {
      this.#standing.delete(standing)
      if (standing.id) this.#link?.unwatch(standing.id)
    }
  }

  /** There is a new link. */
  over(link: Link): void {
    this.#link = link
    for (const standing of [...this.#standing]) this.#establish(standing, link)
  }

  /** The link is gone. */
  lost(): void {
    this.#link = undefined
    for (const standing of this.#standing) standing.id = undefined
  }

  clear(): void {
    this.#standing.clear()
  }

  #establish(standing: Standing, link: Link): void {
    const id = this.#ids('w')
    const { op, follower } = standing
    standing.id = id
    const current = (): boolean => standing.id === id && this.#standing.has(standing)
    const over = (error: RelayError): void => {
      if (!current() || isLoss(error)) return
      standing.id = undefined
      if (error.retry) {
        this.#establishLater(standing, link)
        return
      }
      this.#standing.delete(standing)
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

  /** A watch that was cut off, because it fell behind for instance, resumes; not at once, or it would spin. */
  #establishLater(standing: Standing, link: Link): void {
    setTimeout(() => {
      if (this.#link === link && this.#standing.has(standing)) this.#establish(standing, link)
    }, this.#againMs)
  }
}

/** Did it end with its link, and not by an answer of its own? A stopping daemon refuses what it did not run. */
export function isLoss(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof RelayError && error.code === 'daemon.stopping')
}
