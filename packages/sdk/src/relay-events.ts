// relay.events: what happens in the workspace as a loop, from a number on, once and in order across lost links.

import type { WorkspaceClient } from './client.ts'
import type { RelayError } from './errors.ts'
import { type EventFilter, EventFollower } from './events.ts'
import { Feed, onAbort, type Stream, type Streams } from './feed.ts'
import type { InputOf, OutputOf, RelayEvent } from './protocol/operations.ts'

export interface EventLoopOptions extends EventFilter {
  signal?: AbortSignal
}

/** A loop that does not keep up is not buried: beyond this many the watch pauses, and resumes where it was. */
const waitingMax = 1_000

export class RelayEvents implements AsyncIterable<RelayEvent> {
  readonly #client: WorkspaceClient
  readonly #streams: Streams

  constructor(client: WorkspaceClient, streams: Streams) {
    this.#client = client
    this.#streams = streams
  }

  /** From now on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<RelayEvent> {
    return this.follow()
  }

  /** After the entry `since`, or from now on. What one command did shares one number: resume from one that you have seen whole. */
  follow(options: EventLoopOptions = {}): AsyncIterableIterator<RelayEvent> {
    return new EventLoop(this.#client, this.#streams, options)
  }

  /** A page; `next` is the number to go on from, without a gap or a repeat. */
  list(filter: InputOf<'event.list'> = {}): Promise<OutputOf<'event.list'>> {
    return this.#client.call('event.list', filter)
  }
}

class EventLoop implements AsyncIterableIterator<RelayEvent>, Stream {
  readonly #client: WorkspaceClient
  readonly #streams: Streams
  readonly #feed = new Feed<RelayEvent>()
  readonly #follower: EventFollower
  readonly #unheed: () => void
  #unfollow?: () => void

  constructor(client: WorkspaceClient, streams: Streams, { signal, ...filter }: EventLoopOptions) {
    this.#client = client
    this.#streams = streams
    streams.add(this)
    this.#follower = new EventFollower(filter, {
      event: (event) => this.#arrived(event),
      established: () => {},
      failed: (error) => this.fail(error),
    })
    this.#resume()
    this.#unheed = onAbort(signal, () => this.#feed.finish())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<RelayEvent, undefined>> {
    if (this.#feed.size === 0 && !this.#feed.isOver) this.#resume()
    const event = await this.#feed.next()
    return event ? { done: false, value: event } : this.return()
  }

  async return(): Promise<IteratorResult<RelayEvent, undefined>> {
    this.#streams.drop(this)
    this.#unheed()
    await this.finish()
    return { done: true, value: undefined }
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
