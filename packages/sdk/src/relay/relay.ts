// The relay as a program uses it: agents, channels, messages, inbox, events and actions of one workspace, over any kind of connection. It has no `node:`
// import. Each method corresponds to an operation of the protocol, and to a tool that agents have.

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
import { RelayInbox } from './inbox.ts'
import { RunningLoops } from './item-queue.ts'

export class Relay {
  /** The underlying client, which calls any operation by its name and emits the events of the connection (`ready`, `disconnect`, `error`). */
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
  readonly #streams = new RunningLoops()

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
    // Ends the loops if the daemon refuses the relay for good, for instance because its key was replaced: they would wait forever.
    client.on('error', (error) => {
      if (!error.retry && !client.connected) this.#streams.fail(error)
    })
  }

  /** The agent's name in the workspace: the requested name, with a number added if another agent has that name. */
  get name(): string | undefined {
    return this.client.agentName
  }

  /** The agent's own token: passed as an option, or received when the agent was registered. */
  get token(): string | undefined {
    return this.client.token
  }

  /** Closes the relay for good. Its loops end; a message that the program is still handling stays unread. */
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

  /** Takes an agent's name: from then on, the relay acts as this agent. */
  register(profile: InputOf<'agent.register'>): Promise<OutputOf<'agent.register'>> {
    return this.#client.call('agent.register', profile)
  }

  list(options: ListOptions = {}): Promise<ListedAgent[]> {
    return this.#client.listAgents(options)
  }

  /**
   * Asks for a notice: to be told once, by a message, when another agent is idle, has ended or has answered. `already` in the answer says that this is the case
   * now; then no message comes.
   */
  notifyWhen(
    agent: string,
    when: NoticeOccasion,
    options: { message?: MessageOrId } = {},
  ): Promise<OutputOf<'notice.ask'>> {
    const { message } = options
    return this.#client.call('notice.ask', { agent, when, message: message === undefined ? undefined : idOf(message) })
  }

  /** Lists the notices that you have asked for and not received yet. */
  async notices(): Promise<AwaitedNotice[]> {
    return (await this.#client.call('notice.list', {})).notices
  }

  /** Takes back your requests for notices about an agent: for one event (`idle`, `ended` or `answered`), or for all three. */
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

  /** Creates a channel. Like `join`, `leave` and `remove`, returns the channel's name with its `#`. */
  create(channel: string): Promise<OutputOf<'channel.create'>> {
    return this.#client.call('channel.create', { channel })
  }

  /** Joins a channel. A channel that does not exist is refused, unless `create` is set. */
  join(channel: string, options: { create?: boolean } = {}): Promise<OutputOf<'channel.join'>> {
    return this.#client.call('channel.join', { channel, ...options })
  }

  leave(channel: string): Promise<OutputOf<'channel.leave'>> {
    return this.#client.call('channel.leave', { channel })
  }

  /** Removes a channel that you created, as long as nobody else has joined it and no message was sent to it. */
  remove(channel: string): Promise<OutputOf<'channel.remove'>> {
    return this.#client.call('channel.remove', { channel })
  }
}

type MessageOrId = string | { id: string }
const idOf = (message: MessageOrId): string => (typeof message === 'string' ? message : message.id)

class RelayMessages {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Sends a message to an agent, to several agents, to `#channel` or to `*`. Resolves when the message is stored. */
  send(to: string | string[], body: string, options: SendOptions = {}): Promise<OutputOf<'message.send'>> {
    return this.#client.send(to, body, options)
  }

  /** Sends a message, waits for a recipient's reply and returns the reply. */
  ask(
    to: string | string[],
    body: string,
    options: SendOptions & { timeoutMs?: number } = {},
  ): Promise<WithContent<Message>> {
    return this.#client.sendAndWait(to, body, options)
  }

  /** Replies to a message in its conversation: in the message's channel or group, or to its sender. */
  reply(message: MessageOrId, body: string, options: Pick<SendOptions, 'kind' | 'id' | 'signal'> = {}) {
    const { kind, id, signal } = options
    return this.#client.call('message.send', { replyTo: idOf(message), body, kind }, { id, signal })
  }

  async react(message: MessageOrId, emoji: string, options: { remove?: boolean } = {}): Promise<void> {
    await this.#client.call('message.react', { message: idOf(message), emoji, remove: options.remove })
  }

  /** Returns the messages of a thread, oldest first. The thread is given by its name or by one of its messages. */
  thread(thread: string, options: { limit?: number } = {}): Promise<OutputOf<'message.thread'>> {
    return threadMessages(this.#client, { thread, ...options })
  }

  /** Searches messages, newest first. For the next page, pass `next` as `before`; if the answer has no `next`, nothing is left. */
  search(text: string, options: Omit<InputOf<'message.search'>, 'text'> = {}): Promise<OutputOf<'message.search'>> {
    return searchMessages(this.#client, { text, ...options })
  }

  /** Returns the state of a message for each recipient: stored, offered or read. */
  async receipts(message: MessageOrId): Promise<Receipt[]> {
    return (await this.#client.call('message.receipts', { message: idOf(message) })).receipts
  }
}

/**
 * Claims on the files that agents are editing. Paths are paths on the daemon's machine; relative paths start at `cwd`. Over the network, claims need the
 * workspace key.
 */
class RelayClaims {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  async list(): Promise<Claim[]> {
    return (await this.#client.call('claim.list', {})).claims
  }

  /** Claims files before an edit. The answer says whether the edit is denied, and names the claims of other agents in the way. */
  edit(cwd: string, files: string[]): Promise<OutputOf<'claim.edit'>> {
    return this.#client.call('claim.edit', { cwd, files })
  }

  /** Claims files by an explicit request, for ten minutes; refused if another agent has claimed one of them. */
  async add(cwd: string, files: string[]): Promise<Claim[]> {
    return (await this.#client.call('claim.add', { cwd, files })).claims
  }

  async drop(cwd: string, files: string[]): Promise<Claim[]> {
    return (await this.#client.call('claim.drop', { cwd, files })).claims
  }
}

/** The approvals that agents wait for. The events `approval.opened` and `approval.closed` tell when one begins and ends. */
class RelayApprovals {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Lists the open approvals, oldest first. */
  async list(): Promise<Approval[]> {
    return (await this.#client.call('approval.list', {})).approvals
  }

  async delegations(): Promise<Delegation[]> {
    return (await this.#client.call('approval.list', {})).delegations
  }

  /** Answers an approval with the id of one of its choices. Only a person on the page, or an agent with a delegation, can do this. */
  answer(
    { id, digest }: Pick<Approval, 'id' | 'digest'>,
    choice: string,
    words?: string,
  ): Promise<OutputOf<'approval.answer'>> {
    return this.#client.call('approval.answer', { id, digest, choice, words })
  }
}

/** The needs (things that wait for a person) of the person that this program acts as. All sessions of the person have the same list. */
class RelayNeeds {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Lists the needs, the most urgent first, then the oldest. */
  async list(): Promise<Need[]> {
    return (await this.#client.call('need.list', {})).needs
  }

  /** Dismisses a need in the state in which it was listed: messages that have arrived since then remain a need. */
  async dismiss({ key, message }: Pick<Need, 'key' | 'message'>): Promise<void> {
    await this.#client.call('need.dismiss', { key, through: message?.seq })
  }
}

/** The tokens and cost of the agents' models. Each turn of a model is reported by the event `spend.noted`. */
class RelaySpend {
  readonly #client: WorkspaceClient

  constructor(client: WorkspaceClient) {
    this.#client = client
  }

  /** Returns the spend by agent, run, model or day, with the total. */
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

  /** Changes the workspace's policy; parts that are left out stay as they are. Needs the workspace key. */
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
