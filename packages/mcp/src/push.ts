// Notifications to the host: updates of subscribed resources, a changed list of actions, events, and, if asked for, messages over Claude Code's
// channel.

import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import type { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { pushedMetadata } from '@agent-relay/sdk/internal/injection'
import type { EventPattern, RelayEvent } from '@agent-relay/sdk/protocol'
import type { EventFilter } from './client.ts'
import { resources } from './resources.ts'
import { cleanValueForModel, truncateWithNote } from './text.ts'

export interface ResourceAnnouncer {
  resourceUpdated(uri: string): void
}

/** Subscriptions to resources. Watches the relay only while somebody is subscribed: most hosts never are. */
export class ResourceSubscriptions {
  readonly #client: WorkspaceClient
  readonly #announcer: ResourceAnnouncer
  readonly #watches = new Map<string, { stop(): void }>()

  constructor(client: WorkspaceClient, announcer: ResourceAnnouncer) {
    this.#client = client
    this.#announcer = announcer
  }

  add(uri: string): void {
    const resource = resources.find(({ listing }) => listing.uri === uri)
    if (this.#watches.has(uri) || !resource) return
    const { changedBy, concernsAgent = () => true } = resource
    const changed = (event: RelayEvent) => {
      if (concernsAgent(event, this.#client.agentName)) this.#announcer.resourceUpdated(uri)
    }
    this.#watches.set(uri, changedBy.length === 0 ? { stop() {} } : this.#client.watch({ types: changedBy }, changed))
  }

  remove(uri: string): void {
    this.#watches.get(uri)?.stop()
    this.#watches.delete(uri)
  }

  clear(): void {
    for (const uri of [...this.#watches.keys()]) this.remove(uri)
  }
}

export type SendNotification = (notification: { method: string; params: Record<string, unknown> }) => Promise<void>

/**
 * Sends messages over Claude Code's channel, a notification that shows them to the model. Each message is held first, so that no hook or tool shows
 * it too. If a notification fails, the host is gone; its session ends, which frees the held messages. The receipt says `offered` and never `read`,
 * since a host with channels switched off drops the notification silently.
 */
export function pushMessagesToClaude(client: WorkspaceClient, notify: SendNotification): { stop(): void } {
  const push = async () => {
    const { messages } = await client.call('inbox.take', { route: 'hook' })
    for (const message of messages) {
      // The host puts the text between `<channel>` tags, which the text must not be able to close.
      const content = truncateWithNote(cleanForModel(message.body, ['channel']))
      const meta = cleanValueForModel(pushedMetadata(message))
      await notify({ method: 'notifications/claude/channel', params: { content, meta } })
      await client.call('inbox.offer', { messages: [message.id], route: 'push' })
    }
  }
  // While an approval is open, no messages are handed out. So messages that came meanwhile are sent when it is closed.
  return client.watch({ types: ['message.created', 'approval.closed'] }, () => void push().catch(() => {}))
}

const eventsPerPage = 100

/**
 * Sends events to the host as `notifications/relay/event`. The watch only says that there are new events; these are read from the journal page by
 * page, so that only a number is kept for a slow host, and no queue. Events about sessions are in no journal, and are sent as they happen. No receipt
 * says `offered`, since nobody knows whether the model sees a notification.
 */
export class EventPusher {
  readonly #client: WorkspaceClient
  readonly #notify: SendNotification
  readonly #canPush: () => boolean
  #filter: EventFilter = { types: [] }
  #position = 0
  #watch: { stop(): void } | undefined
  #isPumping = false
  #hasMore = false

  /** `canPush`: whether the host can take a notification now. */
  constructor(client: WorkspaceClient, notify: SendNotification, canPush: () => boolean) {
    this.#client = client
    this.#notify = notify
    this.#canPush = canPush
  }

  /** Subscribes the host; replaces its earlier subscription. */
  start(filter: EventFilter): boolean {
    this.stop()
    if (filter.types.length === 0 || !this.#canPush()) return false
    this.#filter = filter
    this.#position = filter.since ?? 0
    this.#watch = this.#client.watch({ types: filter.types as EventPattern[] }, (event) => {
      // Events without a number are in no journal, so they are sent at once.
      if (event.seq > 0) this.#wake()
      else if (this.#canPush()) void this.#tell(event).catch(() => {})
    })
    this.#wake()
    return true
  }

  stop(): void {
    this.#watch?.stop()
    this.#watch = undefined
  }

  #tell(event: RelayEvent): Promise<void> {
    return this.#notify({ method: 'notifications/relay/event', params: cleanValueForModel(event) })
  }

  #wake(): void {
    this.#hasMore = true
    if (!this.#isPumping) void this.#pump().catch(() => {})
  }

  async #pump(): Promise<void> {
    this.#isPumping = true
    try {
      while (this.#hasMore && this.#watch && this.#canPush()) {
        this.#hasMore = false
        const watch = this.#watch
        const page = { since: this.#position, types: this.#filter.types, limit: eventsPerPage }
        const { events, next, more } = await this.#client.call('event.list', page)
        for (const event of events) {
          if (this.#watch !== watch) break
          await this.#tell(event)
        }
        if (this.#watch !== watch) continue
        this.#position = next
        if (more) this.#hasMore = true
      }
    } finally {
      this.#isPumping = false
    }
  }
}

/** How long changes are collected before the host is told, in ms: a program registers many actions at once. */
const actionsSettleMs = 50

/** Reports changes of the list of actions, once for all changes within a moment. */
export class ActionWatch {
  readonly #client: WorkspaceClient
  readonly #onBegin: () => () => void
  #changed = () => {}
  #watch: { stop(): void } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `begin` is called when the watch begins, and returns the function to call at each change. */
  constructor(client: WorkspaceClient, begin: () => () => void) {
    this.#client = client
    this.#onBegin = begin
  }

  start(): void {
    if (this.#watch) return
    this.#changed = this.#onBegin()
    this.#watch = this.#client.watch({ types: ['action.registered', 'action.withdrawn'] }, () => this.noteChange())
  }

  noteChange(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#changed()
    }, actionsSettleMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#watch?.stop()
    this.#watch = undefined
  }
}
