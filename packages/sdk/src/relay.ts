// The relay as a program uses it: agents, channels, messages, inbox, events and actions of one workspace, over any link. No `node:` import.
// Each method is one operation of the table, and one tool that agents have.

import { Actions } from './actions.ts'
import type { WorkspaceClient } from './client.ts'
import type { ListedAgent, ListOptions, SendOptions, WithContent } from './client-shapes.ts'
import { Streams } from './feed.ts'
import type { InputOf, OutputOf, WorkspaceStatus } from './protocol/operations.ts'
import type { Channel, Message, Policy, Receipt } from './protocol/words.ts'
import { RelayEvents } from './relay-events.ts'
import { RelayInbox } from './relay-inbox.ts'

export class Relay {
  /** What is beneath: any operation by its name, and the events of the connection itself. */
  readonly client: WorkspaceClient
  readonly agents: RelayAgents
  readonly channels: RelayChannels
  readonly messages: RelayMessages
  readonly inbox: RelayInbox
  readonly events: RelayEvents
  readonly actions: Actions
  readonly workspace: RelayWorkspace
  readonly #streams = new Streams()

  constructor(client: WorkspaceClient) {
    this.client = client
    this.agents = new RelayAgents(client)
    this.channels = new RelayChannels(client)
    this.messages = new RelayMessages(client)
    this.inbox = new RelayInbox(client, this.#streams)
    this.events = new RelayEvents(client, this.#streams)
    this.actions = new Actions(client)
    this.workspace = new RelayWorkspace(client)
    // Refused for good, for instance because its key was replaced: a loop that waited on would wait for ever.
    client.on('error', (error) => {
      if (!error.retry && !client.connected) this.#streams.fail(error)
    })
  }

  /** What the workspace called us. */
  get name(): string | undefined {
    return this.client.agentName
  }

  /** The agent's own token, as given or as registering made it. */
  get token(): string | undefined {
    return this.client.token
  }

  /** Final. Loops end; a message that is still being handled stays unread. */
  async close(): Promise<void> {
    await this.#streams.finish()
    await this.client.disconnect()
  }
}

class RelayAgents {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Acts as this agent from then on. */
  register(profile: InputOf<'agent.register'>): Promise<OutputOf<'agent.register'>> {
    return this.#client.call('agent.register', profile)
  }

  list(options: ListOptions = {}): Promise<ListedAgent[]> {
    return this.#client.listAgents(options)
  }

  /** Makes its tokens invalid. Needs the workspace key. */
  async revoke(name: string): Promise<void> {
    await this.#client.call('agent.revoke', { name })
  }
}

class RelayChannels {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  async list(): Promise<Channel[]> {
    return (await this.#client.call('channel.list', {})).channels
  }

  /** Each answers the channel's name with its sign. */
  create(channel: string): Promise<OutputOf<'channel.create'>> {
    return this.#client.call('channel.create', { channel })
  }

  join(channel: string): Promise<OutputOf<'channel.join'>> {
    return this.#client.call('channel.join', { channel })
  }

  leave(channel: string): Promise<OutputOf<'channel.leave'>> {
    return this.#client.call('channel.leave', { channel })
  }
}

type Named = string | { id: string }
const idOf = (message: Named): string => (typeof message === 'string' ? message : message.id)

class RelayMessages {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Resolves when it is stored: to an agent, several, `#channel` or `*`. */
  send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return this.#client.send(to, body, options)
  }

  /** Sends, and resolves with the answer. */
  ask(
    to: string | string[],
    body: string,
    options: SendOptions & { timeoutMs?: number } = {},
  ): Promise<WithContent<Message>> {
    return this.#client.sendAndWait(to, body, options)
  }

  /** Goes where the message came from: to its channel, its group, or its sender. */
  reply(message: Named, body: string, options: Pick<SendOptions, 'kind' | 'id' | 'signal'> = {}) {
    const { kind, id, signal } = options
    return this.#client.call('message.send', { replyTo: idOf(message), body, kind }, { id, signal })
  }

  async react(message: Named, emoji: string, options: { remove?: boolean } = {}): Promise<void> {
    await this.#client.call('message.react', { message: idOf(message), emoji, remove: options.remove })
  }

  /** The messages of a thread, by its name or by a message of it, oldest first. */
  thread(thread: string, options: { limit?: number } = {}): Promise<OutputOf<'message.thread'>> {
    return this.#client.call('message.thread', { thread, ...options })
  }

  search(text: string, options: Omit<InputOf<'message.search'>, 'text'> = {}): Promise<OutputOf<'message.search'>> {
    return this.#client.call('message.search', { text, ...options })
  }

  /** For each recipient: stored, offered or read. */
  async receipts(message: Named): Promise<Receipt[]> {
    return (await this.#client.call('message.receipts', { message: idOf(message) })).receipts
  }
}

class RelayWorkspace {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  status(): Promise<WorkspaceStatus> {
    return this.#client.call('workspace.status', {})
  }

  policy(): Promise<Policy> {
    return this.#client.call('workspace.policy', {})
  }

  /** A part that is left out stays as it is. Needs the workspace key. */
  setPolicy(policy: InputOf<'workspace.set-policy'>): Promise<Policy> {
    return this.#client.call('workspace.set-policy', policy)
  }
}

export type { RelayAgents, RelayChannels, RelayMessages, RelayWorkspace }
