// The client that programs use: typed calls and events over any kind of connection. It imports no `node:` module; the defaults for Node are in node.ts.
// Reconnecting is in reconnecting-link.ts; hiding repeated messages and marking messages as read are in read-marks.ts.

import { ConnectionError, type RelayError, TimeoutError } from '../errors.ts'
import { type ClientLimits, clientLimits } from '../limits.ts'
import type { Connector } from '../link.ts'
import type { EventOf, EventPattern, RelayEvent } from '../protocol/events.ts'
import type { Welcome } from '../protocol/frames.ts'
import { type Ids, makeIds } from '../protocol/ids.ts'
import { limits as wireLimits } from '../protocol/limits.ts'
import type { CallName, InputOf, OutputOf, WatchName, WorkspaceStatus } from '../protocol/operations.ts'
import type { InboxMessage, Message } from '../protocol/words.ts'
import { timerMs, waitAtMost } from '../timer.ts'
import { Emitter, runGuarded } from './emitter.ts'
import { type EventFilter, EventFollower } from './events.ts'
import { ReadMarks } from './read-marks.ts'
import { ReconnectingLink } from './reconnecting-link.ts'
import type { Follower } from './reconnecting-watches.ts'
import {
  type CallOptions,
  type ClientEvents,
  type ClientOptions,
  type ClientStatus,
  helloOf,
  type InboxOptions,
  type InboxPage,
  inboxPageOf,
  type ListedAgent,
  type ListOptions,
  type SendOptions,
  type SpawnOptions,
  sendInput,
  timeoutPerAttempt,
  uptimeText,
  type Watch,
  type WithContent,
  type WorkerResult,
  withContent,
  workerResultOf,
} from './shapes.ts'

/** Maximum number of inbox pages that one `getInbox` call skips because this client has shown all of their messages before. */
const hiddenPagesMax = 20

export class WorkspaceClient extends Emitter<ClientEvents> {
  readonly #options: ClientOptions
  readonly #limits: ClientLimits
  readonly #ids: Ids
  readonly #line: ReconnectingLink
  readonly #readMarks: ReadMarks
  #stopFollowing?: () => void
  #grace?: ReturnType<typeof setTimeout>
  readonly #arrived: InboxMessage[] = []
  #status?: WorkspaceStatus
  #ended = false

  /** `hello`: the greeting that a program has made by itself, in place of the one made of the options. */
  constructor(connect: Connector, options: ClientOptions = {}, hello = helloOf(options)) {
    super()
    this.#options = options
    this.#limits = { ...clientLimits, ...options.limits }
    this.#ids = options.ids ?? makeIds()
    this.#line = new ReconnectingLink({
      connect,
      hello,
      ids: this.#ids,
      limits: this.#limits,
      onUp: (welcome) => this.emit('ready', welcome),
      onDown: (closing) => this.emit('disconnect', closing),
      onRenamed: (renamed) => runGuarded(() => options.onRenamed?.(renamed)),
      onRefused: (error) => this.emit('error', error),
    })
    this.#readMarks = new ReadMarks({
      limits: this.#limits,
      markRead: (ids) => this.#line.call('inbox.read', () => ({ messages: ids }), this.#ids('c')),
      onError: (error) => {
        // A read mark that was lost with the connection is no error: the daemon hands out the message again, and this client hides the repeat.
        if (!(error instanceof ConnectionError)) this.emit('error', error as RelayError)
      },
    })
    // Connects after the constructor has returned, so that an 'error' listener added right after it receives a failure.
    if (options.autoConnect !== false) queueMicrotask(() => this.#connectQuietly())
  }

  /** The agent's name in the workspace: the requested name, with a number added if another agent has that name. */
  get agentName(): string | undefined {
    return this.#line.hello.name
  }

  /** Sets the agent's name and token for later connections: after `agent.register`, or when the daemon names a client that runs in the daemon's own process. */
  actsAs({ agent, token }: { agent: string; token?: string }): void {
    this.#line.setIdentity(agent, token)
  }

  /** The agent's own token: passed as an option, or received when the agent was registered. */
  get token(): string | undefined {
    return this.#line.hello.token
  }

  get connected(): boolean {
    return this.#line.phase === 'up'
  }

  /** Connects to the daemon; rejects if no daemon listens, or if the daemon refuses. After the first success the client reconnects by itself. */
  async connect(): Promise<Welcome> {
    return await this.#line.open()
  }

  /** Calls any operation of the protocol. While the daemon is away, such as during a restart, the call waits up to `callAwayMs` for it. */
  async call<O extends CallName>(op: O, input: InputOf<O>, options: CallOptions = {}): Promise<OutputOf<O>> {
    return await this.#call(op, () => input, options)
  }

  /** Sends a message, and resolves when the daemon has stored it. The operation `message.receipts` tells whether the message was read. */
  async send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return await this.#call('message.send', () => sendInput(to, body, options), options)
  }

  /**
   * Sends a message, or keeps it on this machine while the machine cannot reach its shared workspace. `queued` in the answer means that the message is not
   * stored yet: the daemon sends it later by itself, once, after the messages that were queued before it.
   */
  async queue(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.queue'>> {
    return await this.#call('message.queue', () => sendInput(to, body, options), options)
  }

  /** Sends a message and resolves with the reply. `timeoutMs` counts from this call on, also across a restart of the daemon. */
  async sendAndWait(
    to: string | string[],
    body: string,
    options: SendOptions & { timeoutMs?: number } = {},
  ): Promise<WithContent<Message>> {
    const { timeoutMs = wireLimits.waitMsDefault } = options
    const wait = timeoutPerAttempt(options.timeoutMs, timeoutMs)
    const input = (): InputOf<'message.send'> => ({ ...sendInput(to, body, options), wait: wait() })
    const { reply } = await this.#call('message.send', input, options)
    if (!reply) throw new TimeoutError(`response from ${to}`, timeoutMs)
    // The reply counts as shown, like a message from the inbox: if the daemon hands it out again, this client hides it.
    this.#readMarks.rememberShown(reply.id)
    this.#readMarks.markSoon(reply.id)
    return withContent(reply)
  }

  /**
   * Takes the unread messages, which count as read at this client's next call; with `peek`, only looks at them. Leaves out messages that this client has shown
   * before.
   */
  async getInbox(options: InboxOptions = {}): Promise<InboxPage> {
    const { peek, unread_only, unreadOnly = unread_only, ...rest } = options
    const filter = unreadOnly === undefined ? rest : { ...rest, unreadOnly }
    if (peek) return inboxPageOf(await this.call('inbox.peek', filter))
    // Without a 'message' listener, ends the inbox watch first: messages that it holds would be missing here, and be shown later and out of order.
    if (this.listenerCount('message') === 0) this.#unfollowInbox()
    for (let pages = 1; ; pages++) {
      const page = await this.call('inbox.take', filter)
      const fresh = page.messages.filter((message) => this.#isFresh(message))
      if (unreadOnly === false) return inboxPageOf(page)
      // Asks for another page if this one holds only messages that were shown before: new messages may follow.
      if (fresh.length > 0 || page.more === 0 || page.messages.length === 0 || pages === hiddenPagesMax) {
        return inboxPageOf({ messages: fresh, more: page.more })
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

  /** Starts a worker; resolves when the worker's program has started. The worker itself sends a message when it is ready. */
  async spawn(options: SpawnOptions): Promise<WorkerResult> {
    return await workerResultOf(this.call('worker.spawn', options))
  }

  async release(name: string, reason?: string): Promise<WorkerResult> {
    return await workerResultOf(this.call('worker.release', { name, reason }))
  }

  /** Returns the state of the client and its workspace. Never throws: without a connection, `connected` is false. */
  async getStatus(): Promise<ClientStatus> {
    const wanted = this.#line.phase === 'idle' && this.#options.autoConnect !== false
    if (wanted || this.#line.phase === 'opening' || this.connected) {
      try {
        this.#status = await this.call('workspace.status', {})
        return { ...this.#known(), ...this.#status, connected: true, uptime: uptimeText(this.#status.uptimeMs) }
      } catch {
        // The daemon did not answer, so the result contains only what the client knows by itself.
      }
    }
    return { ...this.#known(), connected: false }
  }

  /** Follows events: passes each event after `since` (default: from this moment on) to `onEvent`, once and in order, also across lost connections. */
  watch<const P extends EventPattern = '*'>(filter: EventFilter<P>, onEvent: (event: EventOf<P>) => void): Watch {
    let stop = (): void => {}
    const ready = new Promise<void>((resolve, reject) => {
      const failed = (error: RelayError): void => {
        stop()
        reject(error)
        this.emit('error', error)
      }
      const event = (item: RelayEvent): void => runGuarded(() => onEvent(item as EventOf<P>))
      stop = this.#line.follow('event.follow', new EventFollower(filter, { event, established: resolve, failed }))
      this.#line.open().catch(failed)
    })
    // A caller need not await `ready`: `failed` has emitted the same error as 'error'.
    ready.catch(() => {})
    return { ready, stop: () => stop() }
  }

  /** Follows the items of any watch operation; the watch is set up again after a lost connection. The returned function ends it. */
  follow<O extends WatchName>(op: O, on: ((item: OutputOf<O>) => void) | Follower<OutputOf<O>>): () => void {
    if (typeof on === 'object') return this.#line.follow(op, on)
    return this.#line.follow(op, {
      input: () => ({}),
      established: () => {},
      item: (item) => runGuarded(() => on(item)),
      failed: (error) => this.emit('error', error),
    })
  }

  /**
   * Ends the client for good: marks the shown messages as read, says goodbye to the daemon, and rejects calls in flight. Afterwards the client no longer keeps
   * the process alive.
   */
  async disconnect(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#grace)
    if (this.connected) await waitAtMost(this.#readMarks.flush(), this.#limits.goodbyeMs)
    await this.#line.end()
  }

  protected override listenersChanged(event: keyof ClientEvents, count: number): void {
    if (event !== 'message') return
    clearTimeout(this.#grace)
    if (count === 0) this.#grace = setTimeout(() => this.#unfollowInbox(), timerMs(this.#limits.followGraceMs))
    else {
      this.#stopFollowing ??= this.#followInbox()
      queueMicrotask(() => this.#showArrived())
    }
  }

  async #call<O extends CallName>(op: O, input: () => InputOf<O>, { id, signal }: CallOptions): Promise<OutputOf<O>> {
    if (this.#ended) throw new ConnectionError('this client has disconnected', { retry: false })
    const output = await this.#line.call(op, input, id ?? this.#ids('c'), signal)
    if (op === 'agent.register') this.actsAs(output as OutputOf<'agent.register'>)
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

  /**
   * Ends the inbox watch while the program has no 'message' listener. Messages that have arrived but were not shown stay unread, and the daemon hands them out
   * again.
   */
  #unfollowInbox(): void {
    this.#arrived.length = 0
    this.#stopFollowing?.()
    this.#stopFollowing = undefined
  }

  /** Emits the messages that have arrived. Without a listener they wait for the next one, because `once` removes its listener after each message. */
  #showArrived(): void {
    while (this.#arrived.length > 0 && this.listenerCount('message') > 0) {
      const message = this.#arrived.shift() as InboxMessage
      if (!this.#isFresh(message)) continue
      this.emit('message', withContent(message))
      this.#readMarks.markSoon(message.id)
    }
  }

  #isFresh({ id }: Message): boolean {
    const fresh = this.#readMarks.rememberShown(id)
    if (!fresh) this.#readMarks.markSoon(id)
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
