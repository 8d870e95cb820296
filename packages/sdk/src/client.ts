// What a program says to its workspace: typed calls and events over any link. No `node:` import: the Node default is in node.ts.
// Reconnecting is lasting.ts's affair, repeats and read marks reading.ts's.

import {
  type CallOptions,
  type ClientEvents,
  type ClientOptions,
  type ClientStatus,
  helloOf,
  type InboxOptions,
  type InboxPage,
  type ListedAgent,
  type ListOptions,
  pageOf,
  resultOf,
  type SendOptions,
  type SpawnOptions,
  sendInput,
  uptimeText,
  type Watch,
  type WithContent,
  type WorkerResult,
  withContent,
} from './client-shapes.ts'
import { Emitter, guarded } from './emitter.ts'
import { ConnectionError, type RelayError, TimeoutError } from './errors.ts'
import { type EventFilter, EventFollower } from './events.ts'
import type { Follower } from './follows.ts'
import { LastingLink } from './lasting.ts'
import { type ClientLimits, clientLimits } from './limits.ts'
import type { Connector } from './link.ts'
import type { Welcome } from './protocol/frames.ts'
import { type Ids, makeIds } from './protocol/ids.ts'
import { limits as wireLimits } from './protocol/limits.ts'
import type { CallName, InputOf, OutputOf, RelayEvent, WatchName, WorkspaceStatus } from './protocol/operations.ts'
import type { InboxMessage, Message } from './protocol/words.ts'
import { Reading } from './reading.ts'
import { within } from './within.ts'

/** As many pages of nothing but repeats are passed over by one getInbox. */
const hiddenPagesMax = 20

export class WorkspaceClient extends Emitter<ClientEvents> {
  readonly #options: ClientOptions
  readonly #limits: ClientLimits
  readonly #ids: Ids
  readonly #line: LastingLink
  readonly #reading: Reading
  #stopFollowing?: () => void
  #grace?: ReturnType<typeof setTimeout>
  readonly #arrived: InboxMessage[] = []
  #status?: WorkspaceStatus
  #ended = false

  constructor(connect: Connector, options: ClientOptions = {}) {
    super()
    this.#options = options
    this.#limits = { ...clientLimits, ...options.limits }
    this.#ids = options.ids ?? makeIds()
    this.#line = new LastingLink({
      connect,
      hello: helloOf(options),
      ids: this.#ids,
      limits: this.#limits,
      onUp: (welcome) => this.emit('ready', welcome),
      onDown: (closing) => this.emit('disconnect', closing),
      onRefused: (error) => this.emit('error', error),
    })
    this.#reading = new Reading({
      limits: this.#limits,
      markRead: (ids) => this.#line.call('inbox.read', () => ({ messages: ids }), this.#ids('c')),
      onError: (error) => {
        // Away: the messages will come again and be hidden then.
        if (!(error instanceof ConnectionError)) this.emit('error', error as RelayError)
      },
    })
    // After the constructor, so that a listener added right behind it hears of a failure.
    if (options.autoConnect !== false) queueMicrotask(() => this.#connectQuietly())
  }

  /** What the workspace called us, which may be the name we asked for with a number. */
  get agentName(): string | undefined {
    return this.#line.hello.name
  }

  /** The agent's own token, as given or as registering made it. */
  get token(): string | undefined {
    return this.#line.hello.token
  }

  get connected(): boolean {
    return this.#line.phase === 'up'
  }

  /** Rejects when nobody listens or when we are refused; after the first success a lost link is taken up again by itself. */
  async connect(): Promise<Welcome> {
    return await this.#line.open()
  }

  /** Any operation of the table. Waits for a lost daemon up to `callAwayMs`. */
  async call<O extends CallName>(op: O, input: InputOf<O>, options: CallOptions = {}): Promise<OutputOf<O>> {
    return await this.#call(op, () => input, options)
  }

  /** Resolves when the message is stored; whether it was read, its receipts tell. */
  async send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return await this.#call('message.send', () => sendInput(to, body, options), options)
  }

  /** Sends, and resolves with the reply. The time counts from now, across a restart of the daemon too. */
  async sendAndWait(
    to: string | string[],
    body: string,
    options: SendOptions & { timeoutMs?: number } = {},
  ): Promise<WithContent<Message>> {
    const timeoutMs = options.timeoutMs ?? wireLimits.waitMsDefault
    const until = Date.now() + timeoutMs
    const input = (): InputOf<'message.send'> => ({
      ...sendInput(to, body, options),
      wait: { timeoutMs: Math.max(1, Math.min(timeoutMs, until - Date.now())) },
    })
    const { reply } = await this.#call('message.send', input, options)
    if (!reply) throw new TimeoutError(`response from ${to}`, timeoutMs)
    // Handed out like any other message: should it come again, it is a repeat.
    this.#reading.show(reply.id)
    this.#reading.owe(reply.id)
    return withContent(reply)
  }

  /** Takes what is unread (counted read at the next call), or only looks. A repeat of what was shown before is hidden. */
  async getInbox(options: InboxOptions = {}): Promise<InboxPage> {
    const { peek, unread_only, unreadOnly = unread_only, ...rest } = options
    const filter = unreadOnly === undefined ? rest : { ...rest, unreadOnly }
    if (peek) return pageOf(await this.call('inbox.peek', filter))
    // Who asks has stopped listening: what the watch still holds belongs into this answer, or it would come late and out of order.
    if (this.listenerCount('message') === 0) this.#unfollowInbox()
    for (let pages = 1; ; pages++) {
      const page = await this.call('inbox.take', filter)
      const fresh = page.messages.filter((message) => this.#isFresh(message))
      if (unreadOnly === false) return pageOf(page)
      // A page of repeats alone is no empty inbox.
      if (fresh.length > 0 || page.more === 0 || page.messages.length === 0 || pages === hiddenPagesMax) {
        return pageOf({ messages: fresh, more: page.more })
      }
    }
  }

  async markRead(messages: string | string[] | { thread: string }): Promise<number> {
    if (typeof messages === 'object' && !Array.isArray(messages)) return (await this.call('inbox.read', messages)).read
    const ids = typeof messages === 'string' ? [messages] : messages
    let read = 0
    for (let at = 0; at < ids.length; at += wireLimits.pageMessagesMax) {
      const answer = await this.call('inbox.read', { messages: ids.slice(at, at + wireLimits.pageMessagesMax) })
      read += answer.read
    }
    return read
  }

  async listAgents(options: ListOptions = {}): Promise<ListedAgent[]> {
    const { include_idle, includeIdle = include_idle, ...rest } = options
    const { agents } = await this.call('agent.list', includeIdle === undefined ? rest : { ...rest, includeIdle })
    return agents.map((agent) => ({ ...agent, idle: agent.status === 'idle' }))
  }

  /** Resolves when the worker's program has started; it messages when it is ready. */
  async spawn(options: SpawnOptions): Promise<WorkerResult> {
    return await resultOf(this.call('worker.spawn', options))
  }

  async release(name: string, reason?: string): Promise<WorkerResult> {
    return await resultOf(this.call('worker.release', { name, reason }))
  }

  /** Never throws: without a connection it says so. */
  async getStatus(): Promise<ClientStatus> {
    const wanted = this.#line.phase === 'idle' && this.#options.autoConnect !== false
    if (wanted || this.#line.phase === 'opening' || this.connected) {
      try {
        this.#status = await this.call('workspace.status', {})
        return { ...this.#known(), ...this.#status, connected: true, uptime: uptimeText(this.#status.uptimeMs) }
      } catch {
        // What is known without a connection, below.
      }
    }
    return { ...this.#known(), connected: false }
  }

  /** Each event after `since` (default: from now on), once, in order, across lost links. */
  watch(filter: EventFilter, onEvent: (event: RelayEvent) => void): Watch {
    let stop = (): void => {}
    const ready = new Promise<void>((resolve, reject) => {
      const failed = (error: RelayError): void => {
        stop()
        reject(error)
        this.emit('error', error)
      }
      const event = (item: RelayEvent): void => guarded(() => onEvent(item))
      stop = this.#line.follow('event.follow', new EventFollower(filter, { event, established: resolve, failed }))
      this.#line.open().catch(failed)
    })
    // Told by 'error' already.
    ready.catch(() => {})
    return { ready, stop: () => stop() }
  }

  /** Items of any watch, set up again after a lost link; it stands until the answered function is called. */
  follow<O extends WatchName>(op: O, on: ((item: OutputOf<O>) => void) | Follower<OutputOf<O>>): () => void {
    if (typeof on === 'object') return this.#line.follow(op, on)
    return this.#line.follow(op, {
      input: () => ({}),
      established: () => {},
      item: (item) => guarded(() => on(item)),
      failed: (error) => this.emit('error', error),
    })
  }

  /** Final: marks what was shown as read, says goodbye, ends calls in flight. Nothing keeps the process alive afterwards. */
  async disconnect(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#grace)
    if (this.connected) await within(this.#reading.flush(), this.#limits.goodbyeMs)
    await this.#line.end()
  }

  protected override listenersChanged(event: keyof ClientEvents, count: number): void {
    if (event !== 'message') return
    clearTimeout(this.#grace)
    if (count === 0) this.#grace = setTimeout(() => this.#unfollowInbox(), this.#limits.followGraceMs)
    else {
      this.#stopFollowing ??= this.#followInbox()
      queueMicrotask(() => this.#showArrived())
    }
  }

  async #call<O extends CallName>(op: O, input: () => InputOf<O>, { id, signal }: CallOptions): Promise<OutputOf<O>> {
    if (this.#ended) throw new ConnectionError('this client has disconnected', { retry: false })
    const output = await this.#line.call(op, input, id ?? this.#ids('c'), signal)
    if (op === 'agent.register') {
      const { agent, token } = output as OutputOf<'agent.register'>
      this.#line.adopt(agent, token)
    }
    return output
  }

  #connectQuietly(): void {
    if (!this.#ended) this.#line.open().catch((error) => this.emit('error', error))
  }

  #followInbox(): () => void {
    return this.#line.follow('inbox.follow', {
      input: () => ({}),
      established: () => {},
      item: (message) => {
        this.#arrived.push(message)
        this.#showArrived()
      },
      failed: (error) => {
        this.#stopFollowing = undefined
        this.emit('error', error)
      },
    })
  }

  /** Nobody came to listen: what arrived meanwhile was not seen, stays unread and will be handed out again. */
  #unfollowInbox(): void {
    this.#arrived.length = 0
    this.#stopFollowing?.()
    this.#stopFollowing = undefined
  }

  /** What arrives between two listeners, as `once` leaves a gap after each message, waits for the next one. */
  #showArrived(): void {
    while (this.#arrived.length > 0 && this.listenerCount('message') > 0) {
      const message = this.#arrived.shift() as InboxMessage
      if (!this.#isFresh(message)) continue
      this.emit('message', withContent(message))
      this.#reading.owe(message.id)
    }
  }

  #isFresh({ id }: Message): boolean {
    const fresh = this.#reading.show(id)
    if (!fresh) this.#reading.owe(id)
    return fresh
  }

  #known(): Pick<ClientStatus, 'agentName' | 'project' | 'socketPath' | 'daemonVersion'> {
    return {
      agentName: this.agentName ?? '',
      project: this.#line.welcome?.workspace ?? 'unknown',
      socketPath: this.#status?.socketPath ?? 'unknown',
      daemonVersion: this.#line.welcome?.version,
    }
  }
}
