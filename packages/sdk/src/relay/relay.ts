// The relay as a program uses it: agents, channels, messages, inbox, events and actions of one workspace, over any link. No `node:` import.
// Each method is one operation of the table, and one tool that agents have.

import type { WorkspaceClient } from '../client/client.ts'
import type { ListedAgent, ListOptions, SendOptions, WithContent } from '../client/shapes.ts'
import { searchMessages, threadMessages } from '../client/whole-page.ts'
import type { Approval, Delegation } from '../protocol/approvals.ts'
import type { Claim } from '../protocol/claims.ts'
import type { Need } from '../protocol/needs.ts'
import type { AwaitedNotice, NoticeOccasion } from '../protocol/notices.ts'
import type { InputOf, OutputOf, WorkspaceStatus } from '../protocol/operations.ts'
import type { Policy } from '../protocol/policy.ts'
import type { SpendGroup } from '../protocol/spend.ts'
import type { Channel, Message, Receipt } from '../protocol/words.ts'
import { Actions } from './actions.ts'
import { RelayEvents } from './events.ts'
import { Streams } from './feed.ts'
import { RelayInbox } from './inbox.ts'

export class Relay {
  /** The client beneath: any operation by its name, and the events of the connection itself. */
  readonly client: WorkspaceClient
  readonly agents: RelayAgents
  readonly channels: RelayChannels
  readonly messages: RelayMessages
  readonly inbox: RelayInbox
  readonly events: RelayEvents
  readonly actions: Actions
  readonly claims: RelayClaims
  readonly approvals: RelayApprovals
  readonly needs: RelayNeeds
  readonly spend: RelaySpend
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
    this.claims = new RelayClaims(client)
    this.approvals = new RelayApprovals(client)
    this.needs = new RelayNeeds(client)
    this.spend = new RelaySpend(client)
    this.workspace = new RelayWorkspace(client)
    // The relay was refused for good, for instance because its key was replaced: a loop that went on waiting would wait forever.
    client.on('error', (error) => {
      if (!error.retry && !client.connected) this.#streams.fail(error)
    })
  }

  /** The agent's name in the workspace: the requested name, with a number if somebody else has it. */
  get name(): string | undefined {
    return this.client.agentName
  }

  /** The agent's own token: passed as an option, or made by registering. */
  get token(): string | undefined {
    return this.client.token
  }

  /** Closes the relay for good. Loops end; a message that is still being handled stays unread. */
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

  /** Takes a name: the relay acts as this agent from then on. */
  register(profile: InputOf<'agent.register'>): Promise<OutputOf<'agent.register'>> {
    return this.#client.call('agent.register', profile)
  }

  list(options: ListOptions = {}): Promise<ListedAgent[]> {
    return this.#client.listAgents(options)
  }

  /** Asks to be told once, by a message, when another agent is idle, has ended or has answered. `already`: it is so now, and no message comes. */
  notifyWhen(agent: string, when: NoticeOccasion, options: { message?: Named } = {}): Promise<OutputOf<'notice.ask'>> {
    const { message } = options
    return this.#client.call('notice.ask', { agent, when, message: message === undefined ? undefined : idOf(message) })
  }

  /** The notices that you have asked for and not received yet. */
  async notices(): Promise<AwaitedNotice[]> {
    return (await this.#client.call('notice.list', {})).notices
  }

  /** Takes back notices about an agent: for one occasion, or for any. */
  async dropNotices(agent: string, when?: NoticeOccasion): Promise<void> {
    await this.#client.call('notice.drop', { agent, when })
  }

  /** Makes all tokens of an agent invalid. Needs the workspace key. */
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

  /** Makes a channel. This and `join`, `leave` and `remove` return the name with its `#`. */
  create(channel: string): Promise<OutputOf<'channel.create'>> {
    return this.#client.call('channel.create', { channel })
  }

  /** Joins a channel. One that does not exist is refused, unless `create` is set. */
  join(channel: string, options: { create?: boolean } = {}): Promise<OutputOf<'channel.join'>> {
    return this.#client.call('channel.join', { channel, ...options })
  }

  leave(channel: string): Promise<OutputOf<'channel.leave'>> {
    return this.#client.call('channel.leave', { channel })
  }

  /** Removes a channel that you made, while nobody else has joined it and nothing was said in it. */
  remove(channel: string): Promise<OutputOf<'channel.remove'>> {
    return this.#client.call('channel.remove', { channel })
  }
}

type Named = string | { id: string }
const idOf = (message: Named): string => (typeof message === 'string' ? message : message.id)

class RelayMessages {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Sends to an agent, several, `#channel` or `*`. Resolves when the message is stored. */
  send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return this.#client.send(to, body, options)
  }

  /** Sends a message and resolves with the answer. */
  ask(
    to: string | string[],
    body: string,
    options: SendOptions & { timeoutMs?: number } = {},
  ): Promise<WithContent<Message>> {
    return this.#client.sendAndWait(to, body, options)
  }

  /** Answers a message where it came from: in its channel, its group, or to its sender. */
  reply(message: Named, body: string, options: Pick<SendOptions, 'kind' | 'id' | 'signal'> = {}) {
    const { kind, id, signal } = options
    return this.#client.call('message.send', { replyTo: idOf(message), body, kind }, { id, signal })
  }

  async react(message: Named, emoji: string, options: { remove?: boolean } = {}): Promise<void> {
    await this.#client.call('message.react', { message: idOf(message), emoji, remove: options.remove })
  }

  /** The messages of a thread, by its name or by a message of it, oldest first. */
  thread(thread: string, options: { limit?: number } = {}): Promise<OutputOf<'message.thread'>> {
    return threadMessages(this.#client, { thread, ...options })
  }

  /** Searches messages, newest first. To go on, pass `next` as `before`; without a `next` everything was found. */
  search(text: string, options: Omit<InputOf<'message.search'>, 'text'> = {}): Promise<OutputOf<'message.search'>> {
    return searchMessages(this.#client, { text, ...options })
  }

  /** The state of a message for each recipient: stored, offered or read. */
  async receipts(message: Named): Promise<Receipt[]> {
    return (await this.#client.call('message.receipts', { message: idOf(message) })).receipts
  }
}

/** Files that agents are editing, as paths on the daemon's machine; relative ones begin at `cwd`. Over the network this needs the workspace key. */
class RelayClaims {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  async list(): Promise<Claim[]> {
    return (await this.#client.call('claim.list', {})).claims
  }

  /** Claims files before an edit, or says that the edit is denied, and by whom. */
  edit(cwd: string, files: string[]): Promise<OutputOf<'claim.edit'>> {
    return this.#client.call('claim.edit', { cwd, files })
  }

  /** Claims files by hand, for ten minutes; refused if another agent has one of them. */
  async add(cwd: string, files: string[]): Promise<Claim[]> {
    return (await this.#client.call('claim.add', { cwd, files })).claims
  }

  async drop(cwd: string, files: string[]): Promise<Claim[]> {
    return (await this.#client.call('claim.drop', { cwd, files })).claims
  }
}

/** The approvals that agents wait for before they may go on. They come and go as the events `approval.opened` and `approval.closed`. */
class RelayApprovals {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** The open approvals, oldest first. */
  async list(): Promise<Approval[]> {
    return (await this.#client.call('approval.list', {})).approvals
  }

  async delegations(): Promise<Delegation[]> {
    return (await this.#client.call('approval.list', {})).delegations
  }

  /** Answers an approval by the id of one of its choices. Only the page of a person can, or an agent under a delegation. */
  answer(
    { id, digest }: Pick<Approval, 'id' | 'digest'>,
    choice: string,
    words?: string,
  ): Promise<OutputOf<'approval.answer'>> {
    return this.#client.call('approval.answer', { id, digest, choice, words })
  }
}

/** The needs of whoever this program acts as: the same list in every session. */
class RelayNeeds {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** The needs, the most urgent first, and then the oldest. */
  async list(): Promise<Need[]> {
    return (await this.#client.call('need.list', {})).needs
  }

  /** Dismisses a need as it was listed: a message that has come since needs an answer all the same. */
  async dismiss({ key, message }: Pick<Need, 'key' | 'message'>): Promise<void> {
    await this.#client.call('need.dismiss', { key, through: message?.seq })
  }
}

/** The tokens and cost of agents' models. Each turn comes as the event `spend.noted`. */
class RelaySpend {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Spend by agent, run, model or day, with the total. */
  list(by?: SpendGroup): Promise<OutputOf<'spend.list'>> {
    return this.#client.call('spend.list', { by })
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

  /** Changes the policy; parts that are left out stay as they are. Needs the workspace key. */
  setPolicy(policy: InputOf<'workspace.set-policy'>): Promise<Policy> {
    return this.#client.call('workspace.set-policy', policy)
  }
}

export type {
  RelayAgents,
  RelayApprovals,
  RelayChannels,
  RelayClaims,
  RelayMessages,
  RelayNeeds,
  RelaySpend,
  RelayWorkspace,
}
