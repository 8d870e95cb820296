// `relay.inbox`: a loop over unread messages that marks each message as read once the program has handled it. Also methods to look at, take and mark messages
// without a loop.

import type { WorkspaceClient } from '../client/client.ts'
import { type InboxOptions, type InboxPage, type ReceivedMessage, withContent } from '../client/shapes.ts'
import { ConnectionError, type RelayError } from '../errors.ts'
import { clientLimits } from '../limits.ts'
import type { OutputOf } from '../protocol/operations.ts'
import type { InboxMessage } from '../protocol/words.ts'
import { type EndableLoop, ItemQueue, onAbort, type RunningLoops } from './item-queue.ts'

export interface InboxLoopOptions {
  /** Aborting this signal ends the loop normally: the last message that the loop has returned counts as read. */
  signal?: AbortSignal
}

/**
 *     for await (const message of relay.inbox) await handle(message)
 *
 * A message is marked as read when the loop asks for the next one, or when it ends because its signal was aborted. If a `break` or an error ends the loop (an
 * iterator cannot tell these apart), the last message stays unread and comes again: to avoid that, call `markRead` before the `break`.
 */
export class RelayInbox implements AsyncIterable<ReceivedMessage> {
  readonly #client: WorkspaceClient
  readonly #streams: RunningLoops

  constructor(client: WorkspaceClient, streams: RunningLoops) {
    this.#client = client
    this.#streams = streams
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ReceivedMessage> {
    return this.follow()
  }

  follow(options: InboxLoopOptions = {}): AsyncIterableIterator<ReceivedMessage> {
    return new InboxLoop(this.#client, this.#streams, options)
  }

  /** Looks at messages: they stay unread and are not handed out. */
  list(options: Omit<InboxOptions, 'peek'> = {}): Promise<InboxPage> {
    return this.#client.getInbox({ ...options, peek: true })
  }

  /** Takes the unread messages. They count as read at the program's next call. */
  take(options: Omit<InboxOptions, 'peek'> = {}): Promise<InboxPage> {
    return this.#client.getInbox(options)
  }

  count(): Promise<OutputOf<'inbox.count'>> {
    return this.#client.call('inbox.count', {})
  }

  /** Marks messages as read, and returns how many of them were unread. */
  markRead(messages: string | { id: string } | string[] | { thread: string }): Promise<number> {
    return this.#client.markRead(typeof messages === 'object' && 'id' in messages ? messages.id : messages)
  }
}

class InboxLoop implements AsyncIterableIterator<ReceivedMessage>, EndableLoop {
  readonly #client: WorkspaceClient
  readonly #streams: RunningLoops
  readonly #feed = new ItemQueue<InboxMessage>()
  /**
   * The messages that have arrived, by id (`here`), and those that the loop has marked as read (`read`), to recognise repeats: after a lost connection, the
   * daemon hands out unmarked messages again. The oldest ids are dropped first.
   */
  readonly #known = new Map<string, 'here' | 'read'>()
  readonly #marks = new Set<Promise<void>>()
  readonly #unfollow: () => void
  readonly #removeAbortListener: () => void
  #current?: InboxMessage

  constructor(client: WorkspaceClient, streams: RunningLoops, { signal }: InboxLoopOptions) {
    this.#client = client
    this.#streams = streams
    streams.add(this)
    this.#unfollow = client.follow('inbox.follow', {
      input: () => ({}),
      established: () => {},
      item: (message) => this.#arrived(message),
      failed: (error) => this.fail(error),
    })
    this.#removeAbortListener = onAbort(signal, () => this.#feed.finish())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ReceivedMessage, undefined>> {
    if (this.#current) this.#mark(this.#current.id)
    this.#current = undefined
    const message = await this.#feed.next().catch((error) => this.#giveUp(error))
    this.#current = message
    if (message) return { done: false, value: withContent(message) }
    await this.#leave()
    return { done: true, value: undefined }
  }

  /** Ends the loop here, because a `for await` does not call `return` if `next` throws. */
  async #giveUp(error: RelayError): Promise<never> {
    await this.#leave()
    throw error
  }

  /** Ends the loop. JavaScript calls this after a `break` or an error in the body of a `for await`. */
  async return(): Promise<IteratorResult<ReceivedMessage, undefined>> {
    await this.#leave()
    return { done: true, value: undefined }
  }

  async finish(): Promise<void> {
    this.#feed.finish()
    await Promise.all(this.#marks)
  }

  fail(error: RelayError): void {
    this.#feed.fail(error)
  }

  async #leave(): Promise<void> {
    this.#streams.drop(this)
    this.#removeAbortListener()
    await this.finish()
    // The watch ends only after the last read mark is stored, because the daemon hands out again what the watch still holds when it ends.
    this.#unfollow()
  }

  #arrived(message: InboxMessage): void {
    const known = this.#known.get(message.id)
    // The loop has handled this message, but the read mark was lost with the connection: it is sent again.
    if (known === 'read') this.#mark(message.id)
    if (known !== undefined) return
    this.#note(message.id, 'here')
    this.#feed.push(message)
  }

  /** Marks a message as read, without waiting for the daemon: meanwhile the loop goes on with the next message. */
  #mark(id: string): void {
    this.#note(id, 'read')
    const mark = this.#client
      .markRead(id)
      .then(
        () => {},
        (error: RelayError) => {
          // A ConnectionError is no failure of the loop: when the daemon is back, it hands out the message again, and the loop marks it then.
          if (!(error instanceof ConnectionError)) this.fail(error)
        },
      )
      .finally(() => this.#marks.delete(mark))
    this.#marks.add(mark)
  }

  #note(id: string, how: 'here' | 'read'): void {
    this.#known.set(id, how)
    const [oldest] = this.#known.keys()
    if (this.#known.size > clientLimits.shownMax && oldest !== undefined) this.#known.delete(oldest)
  }
}
