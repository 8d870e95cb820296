// Lets a watch of events go on after a lost connection without a gap or a repeat: remembers how far the watch has come, and from which number it resumes.

import type { RelayError } from '../errors.ts'
import type { EventPattern, RelayEvent } from '../protocol/events.ts'
import type { InputOf } from '../protocol/operations.ts'
import type { Follower } from './reconnecting-watches.ts'

/** Selects events for a watch. TypeScript checks the names of event types here, while the daemon accepts any name. */
export interface EventFilter<P extends EventPattern = EventPattern> {
  /** Only events after the journal entry with this number. Unset: from the moment the watch is set up. */
  since?: number
  /** Types of events, such as `message.created` or `action.*`. Unset: all types. */
  types?: readonly P[]
  /**
   * Maximum number of journal entries in a batch, for a program that draws events on a screen: ten batches a second, each with the newest entries. Needs the
   * workspace's key. An event `events.skipped` counts the entries left out.
   */
  newest?: number
}

export interface EventSink {
  event(event: RelayEvent): void
  established(): void
  failed(error: RelayError): void
}

/**
 * Follows events across connections. All events of one journal entry share its number, and a connection may break between two of them: resuming after that
 * number would lose the rest. So a resumed watch asks for the last entry again, and skips those of its events that were seen.
 */
export class EventFollower implements Follower<RelayEvent> {
  readonly #filter: InputOf<'event.follow'>
  readonly #sink: EventSink
  #seq?: number
  /** How many events of the journal entry `#seq` the watch has passed on; 0 if `#seq` is only the number at which the watch started. */
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
    // A watch without `since` takes its first number from the daemon's answer. With `since` it starts from `since`: the number in the answer may be higher than
    // that of events still to come.
    if (this.#seq === undefined) this.#seq = this.#filter.since ?? seq
    this.#sink.established()
  }

  item(event: RelayEvent): void {
    // Events with the number 0, such as `session.event`, are not in the journal and have no place in its order: they are passed on at once.
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
