// Event watches with no gap and no repeat over links that come and go: the place where a watch stands, and from where it resumes.

import type { RelayError } from '../errors.ts'
import type { EventPattern, RelayEvent } from '../protocol/events.ts'
import type { InputOf } from '../protocol/operations.ts'
import type { Follower } from './reconnecting-watches.ts'

/** Selects events. The wire takes any names; here the compiler checks them. */
export interface EventFilter<P extends EventPattern = EventPattern> {
  /** Only events after the entry with this number; from now on, if left out. */
  since?: number
  /** Types of events, such as `message.created` or `action.*`; all, if left out. */
  types?: readonly P[]
  /** The most events at a time, ten times a second and the newest, for a screen; needs the workspace key. An event `events.skipped` counts the others. */
  newest?: number
}

export interface EventSink {
  event(event: RelayEvent): void
  established(): void
  failed(error: RelayError): void
}

/**
 * Follows events across links. Events of one entry share its number, and a link may break between two of them: resuming "after" that number would lose the
 * rest. So a resumed watch asks for the last entry again and passes over as many of its events as were seen.
 */
export class EventFollower implements Follower<RelayEvent> {
  readonly #filter: InputOf<'event.follow'>
  readonly #sink: EventSink
  #seq?: number
  /** Number of events seen of entry `#seq`; 0 while `#seq` is the number that the watch started at. */
  #seen = 0
  #passOver = 0

  constructor(filter: EventFilter, sink: EventSink) {
    this.#filter = { ...filter, types: filter.types && [...filter.types] }
    this.#sink = sink
  }

  input(): InputOf<'event.follow'> {
    if (this.#seq === undefined) return this.#filter
    this.#passOver = this.#seen
    return { ...this.#filter, since: this.#seen > 0 ? this.#seq - 1 : this.#seq }
  }

  established(seq: number): void {
    // A watch "from now" learns its number from the answer. With a `since` the number is ours: the answer's may lie ahead of the backlog.
    if (this.#seq === undefined) this.#seq = this.#filter.since ?? seq
    this.#sink.established()
  }

  item(event: RelayEvent): void {
    // Events that are in no journal have the number 0, and no place in the order.
    if (event.seq === 0) return this.#sink.event(event)
    if (this.#seq !== undefined && event.seq < this.#seq) return
    if (event.seq === this.#seq && this.#passOver > 0) {
      this.#passOver--
      return
    }
    this.#seen = event.seq === this.#seq ? this.#seen + 1 : 1
    this.#seq = event.seq
    this.#passOver = 0
    this.#sink.event(event)
  }

  failed(error: RelayError): void {
    this.#sink.failed(error)
  }
}
