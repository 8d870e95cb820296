// Telling the host by itself: updates of subscribed resources, and messages over Claude Code's channel where that was asked for.

import type { WorkspaceClient } from '@agent-relay/sdk'
import type { RelayEvent } from '@agent-relay/sdk/protocol'
import type { EventFilter } from './desk.ts'
import { resources } from './resources/index.ts'

export interface Announcer {
  resourceUpdated(uri: string): void
}

/** Watches only while somebody is subscribed: most hosts never are. */
export class Subscriptions {
  readonly #client: WorkspaceClient
  readonly #announcer: Announcer
  readonly #watches = new Map<string, { stop(): void }>()

  constructor(client: WorkspaceClient, announcer: Announcer) {
    this.#client = client
    this.#announcer = announcer
  }

  add(uri: string): void {
    const resource = resources.find(({ listed }) => listed.uri === uri)
    if (this.#watches.has(uri) || !resource) return
    const { changedBy: types, concerns = () => true } = resource
    const changed = (event: RelayEvent) => {
      if (concerns(event, this.#client.agentName)) this.#announcer.resourceUpdated(uri)
    }
    this.#watches.set(uri, types.length === 0 ? { stop() {} } : this.#client.watch({ types }, changed))
  }

  remove(uri: string): void {
    this.#watches.get(uri)?.stop()
    this.#watches.delete(uri)
  }

  clear(): void {
    for (const uri of [...this.#watches.keys()]) this.remove(uri)
  }
}

export type Notify = (notification: { method: string; params: Record<string, unknown> }) => Promise<void>

/** The receipt says `offered`, never `read`: a host that has channels switched off drops the notification without a word. */
export function pushToChannel(client: WorkspaceClient, notify: Notify): { stop(): void } {
  return client.watch({ types: ['message.created'] }, ({ message }: RelayEvent) => {
    if (!message || message.from === client.agentName) return
    const { id, from, channel = '', thread = '', kind, body } = message
    const meta = { from_agent: from, message_id: id, channel, thread_id: thread, kind }
    notify({ method: 'notifications/claude/channel', params: { content: body, meta } })
      .then(() => client.call('inbox.offer', { messages: [id], route: 'push' }))
      // Not delivered this way: it waits in the inbox, where every other way begins.
      .catch(() => {})
  })
}

const eventsPerPage = 100

/**
 * Events to the host, as its own notification. The watch is only a hint: what is sent is read from the journal, one at a time, so that a
 * host that reads slowly holds a number and no queue. No receipt says `offered`: whether the model sees a notification is not known.
 */
export class EventPush {
  readonly #client: WorkspaceClient
  readonly #notify: Notify
  readonly #canPush: () => boolean
  #filter: EventFilter = { types: [] }
  #position = 0
  #watch: { stop(): void } | undefined
  #isPumping = false
  #again = false

  /** `canPush`: somebody is there to take a notification just now. */
  constructor(client: WorkspaceClient, notify: Notify, canPush: () => boolean) {
    this.#client = client
    this.#notify = notify
    this.#canPush = canPush
  }

  /** In place of what was subscribed before. */
  start(filter: EventFilter): boolean {
    this.stop()
    if (filter.types.length === 0 || !this.#canPush()) return false
    this.#filter = filter
    this.#position = filter.since ?? 0
    this.#watch = this.#client.watch({ types: filter.types }, () => this.#wake())
    this.#wake()
    return true
  }

  stop(): void {
    this.#watch?.stop()
    this.#watch = undefined
  }

  #wake(): void {
    this.#again = true
    if (!this.#isPumping) void this.#pump().catch(() => {})
  }

  async #pump(): Promise<void> {
    this.#isPumping = true
    try {
      while (this.#again && this.#watch && this.#canPush()) {
        this.#again = false
        const watch = this.#watch
        const page = { since: this.#position, types: this.#filter.types, limit: eventsPerPage }
        const { events, next } = await this.#client.call('event.list', page)
        for (const event of events) {
          if (this.#watch !== watch) break
          await this.#notify({ method: 'notifications/relay/event', params: event })
        }
        if (this.#watch !== watch) continue
        this.#position = next
        if (events.length >= eventsPerPage) this.#again = true
      }
    } finally {
      this.#isPumping = false
    }
  }
}
