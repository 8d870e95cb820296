// `relay.events`: a loop over the workspace's events, from a given number on, each event once and in order, also across lost connections.

import type { WorkspaceClient } from '../client/client.ts'
import { type EventFilter, EventFollower } from '../client/events.ts'
import { listEvents } from '../client/whole-page.ts'
import type { RelayError } from '../errors.ts'
import type { EventOf, EventPattern, RelayEvent } from '../protocol/events.ts'
import type { OutputOf } from '../protocol/operations.ts'
import { type EndableLoop, ItemQueue, onAbort, type RunningLoops } from './item-queue.ts'

export interface EventLoopOptions<P extends EventPattern = EventPattern> extends EventFilter<P> {
  signal?: AbortSignal
}

export interface EventListOptions<P extends EventPattern = EventPattern> extends Omit<EventFilter<P>, 'newest'> {
  /** Only events whose number (`seq`) is lower. */
  before?: number
  limit?: number
}

export type EventPage<P extends EventPattern = '*'> = Omit<OutputOf<'event.list'>, 'events'> & { events: EventOf<P>[] }

/** Maximum number of events that wait for a slow loop. Then the watch pauses, and resumes where it stopped once the loop has caught up. */
const waitingMax = 1_000

export class RelayEvents implements AsyncIterable<RelayEvent> {
  readonly #client: WorkspaceClient
  readonly #streams: RunningLoops

  constructor(client: WorkspaceClient, streams: RunningLoops) {
    this.#client = client
    this.#streams = streams
  }

  /** Loops over all events from this moment on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<RelayEvent> {
    return this.follow()
  }

  /**
   * Loops over the events after the journal entry `since`, or from this moment on. All events of one command have the same number, so resume only from a number
   * whose events you have all seen.
   */
  follow<const P extends EventPattern = '*'>(options: EventLoopOptions<P> = {}): AsyncIterableIterator<EventOf<P>> {
    return new EventLoop(this.#client, this.#streams, options) as AsyncIterableIterator<EventOf<P>>
  }

  /** Lists the newest page of events, or the page after `since`. While `more` is true, pass `next` as `since` to continue without a gap or a repeat. */
  async list<const P extends EventPattern = '*'>(options: EventListOptions<P> = {}): Promise<EventPage<P>> {
    const { types, ...rest } = options
    return (await listEvents(this.#client, { ...rest, types: types && [...types] })) as EventPage<P>
  }
}

class EventLoop implements AsyncIterableIterator<RelayEvent>, EndableLoop {
  readonly #client: WorkspaceClient
  readonly #streams: RunningLoops
  readonly #feed = new ItemQueue<RelayEvent>()
  readonly #follower: EventFollower
  readonly #removeAbortListener: () => void
  #unfollow?: () => void

  constructor(client: WorkspaceClient, streams: RunningLoops, { signal, ...filter }: EventLoopOptions) {
    this.#client = client
    this.#streams = streams
    streams.add(this)
    this.#follower = new EventFollower(filter, {
      event: (event) => this.#arrived(event),
      established: () => {},
      failed: (error) => this.fail(error),
    })
    this.#resume()
    this.#removeAbortListener = onAbort(signal, () => this.#feed.finish())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<RelayEvent, undefined>> {
    if (this.#feed.size === 0 && !this.#feed.isOver) this.#resume()
    const event = await this.#feed.next().catch((error) => this.#giveUp(error))
    return event ? { done: false, value: event } : this.return()
  }

  async return(): Promise<IteratorResult<RelayEvent, undefined>> {
    this.#streams.drop(this)
    this.#removeAbortListener()
    await this.finish()
    return { done: true, value: undefined }
  }

  /** Ends the loop here, because a `for await` does not call `return` if `next` throws. */
  async #giveUp(error: RelayError): Promise<never> {
    await this.return()
    throw error
  }

  async finish(): Promise<void> {
    this.#pause()
    this.#feed.finish()
  }

  fail(error: RelayError): void {
    this.#feed.fail(error)
  }

  #arrived(event: RelayEvent): void {
    this.#feed.push(event)
    if (this.#feed.size >= waitingMax) this.#pause()
  }

  #pause(): void {
    this.#unfollow?.()
    this.#unfollow = undefined
  }

  #resume(): void {
    this.#unfollow ??= this.#client.follow('event.follow', this.#follower)
  }
}
