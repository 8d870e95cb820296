// The client by which an MCP tool calls the relay while it answers one tools/call. The call's turn gives these calls their ids, so that a repeated
// tools/call changes nothing twice.

import { RelayError } from '@agent-relay/sdk'
import {
  type ClientStatus,
  type SpawnOptions,
  type Turn,
  uptimeText,
  type WithContent,
  type WorkerResult,
  withContent,
  workerResultOf,
} from '@agent-relay/sdk/internal/client'
import {
  type Agent,
  type CallName,
  type InboxMessage,
  type InputOf,
  type Message,
  messageFor,
  type OutputOf,
  type RefusalReader,
} from '@agent-relay/sdk/protocol'
import { clipText } from './text.ts'

export type RegistrationProfile = Pick<InputOf<'agent.register'>, 'name' | 'handle' | 'type' | 'channels'>

export interface RegisteredAgent {
  agent: string
  id: string
  /**
   * The agent's token; set only in the stateless protocol, where every call must carry it. Elsewhere the session knows its agent, and no tool returns
   * a token.
   */
  agentToken?: string
}

export interface EventFilter {
  types: string[]
  since?: number
}

/** Services of the MCP session for tools, besides calls to the relay: taking an agent name, and pushing events to the host. */
export interface SessionServices {
  register(profile: RegistrationProfile): Promise<RegisteredAgent>
  /** Pushes these events to the host from now on; false if the host cannot take them. Empty `types` end the pushing. */
  subscribe(filter: EventFilter): Promise<boolean>
}

const noSessionServices: SessionServices = {
  register: async () => {
    throw new RelayError('This session cannot take another name.', { code: 'auth.denied' })
  },
  subscribe: async () => false,
}

export type InboxPage = WithContent<InboxMessage>[] & { more: number }

export type SendingOptions = Pick<InputOf<'message.send'>, 'thread' | 'create'>

/** The part of the relay that tools see; tests may put another in its place. */
export interface ToolClient {
  send(to: string, message: string, options?: SendingOptions): Promise<OutputOf<'message.send'>>
  queue?(to: string, message: string, options?: SendingOptions): Promise<OutputOf<'message.queue'>>
  sendAndWait(
    to: string,
    message: string,
    options?: SendingOptions & { timeoutMs?: number },
  ): Promise<WithContent<Message>>
  getInbox(options?: InputOf<'inbox.take'> & { unread_only?: boolean; peek?: boolean }): Promise<InboxPage>
  /** `abroad`: addresses of agents in other workspaces, if this workspace has no other agent. */
  listAgents(options?: {
    include_idle?: boolean
    project?: string
  }): Promise<(Agent & { idle: boolean })[] & { abroad?: string[] }>
  getStatus(): Promise<ClientStatus>
  spawn(options: SpawnOptions): Promise<WorkerResult>
  release(name: string, reason?: string): Promise<WorkerResult>
  count(): Promise<OutputOf<'inbox.count'>>
  /** The names of the roles of a lift; empty outside a lift. */
  readonly roles: readonly string[]
  /** Calls any operation of the relay with that operation's input. */
  call<O extends CallName>(op: O, input: InputOf<O>): Promise<OutputOf<O>>
  readonly sessionServices: SessionServices
}

const invalidInput = { code: 'input.invalid' }

export class TurnClient implements ToolClient {
  readonly #turn: Turn
  readonly #signal: AbortSignal | undefined
  readonly #reader: RefusalReader
  readonly sessionServices: SessionServices
  /** The role of the lift that this client acts as. */
  readonly role: string | undefined

  /** `reader`: for whom refusals are worded, such as an agent with certain tools. */
  constructor(
    turn: Turn,
    signal?: AbortSignal,
    reader: RefusalReader = 'program',
    sessionServices: SessionServices = noSessionServices,
    role?: string,
  ) {
    this.#turn = turn
    this.#signal = signal
    this.#reader = reader
    this.sessionServices = sessionServices
    this.role = role
  }

  get roles(): readonly string[] {
    return this.#turn.roles?.names ?? []
  }

  /** A client for the same call that acts as a role of the lift: the given one, or else the session's own. */
  actingAs(said: string | undefined): TurnClient {
    const { roles } = this.#turn
    if (!roles) throw new RelayError('This relay has no roles. One that has them: agent-relay lift', invalidInput)
    const role = said ?? roles.own
    if (role === undefined) throw new RelayError(`Say your role as "from": ${roles.names.join(', ')}.`, invalidInput)
    if (!roles.names.includes(role)) throw unknownRoleError(role, roles.names)
    return new TurnClient(roles.as(role), this.#signal, this.#reader, this.sessionServices, role)
  }

  call<O extends CallName>(op: O, input: InputOf<O>): Promise<OutputOf<O>> {
    return this.#turn.call(op, input, this.#signal)
  }

  send(to: string, body: string, options: SendingOptions = {}): Promise<OutputOf<'message.send'>> {
    return this.#turn.call('message.send', { to: parseAddress(to), body, ...options }, this.#signal)
  }

  queue(to: string, body: string, options: SendingOptions = {}): Promise<OutputOf<'message.queue'>> {
    return this.#turn.call('message.queue', { to: parseAddress(to), body, ...options }, this.#signal)
  }

  async sendAndWait(to: string, body: string, { timeoutMs, ...options }: SendingOptions & { timeoutMs?: number } = {}) {
    const input = { to: parseAddress(to), body, ...options, wait: { timeoutMs } }
    const { reply } = await this.#turn.call('message.send', input, this.#signal)
    return withContent(reply as Message)
  }

  /** Hands out unread messages, and again those of the last answer if the model has made no call since: then it may not have received them. */
  async getInbox({
    unread_only,
    peek = false,
    ...filter
  }: InputOf<'inbox.take'> & { unread_only?: boolean; peek?: boolean } = {}) {
    const input = { ...filter, unreadOnly: unread_only ?? filter.unreadOnly }
    const page = peek
      ? await this.#turn.call('inbox.peek', input)
      : await this.#turn.call('inbox.take', input, this.#signal)
    return Object.assign(page.messages.map(withContent), { more: page.more })
  }

  async listAgents({ include_idle, project }: { include_idle?: boolean; project?: string } = {}) {
    const { agents, abroad } = await this.#turn.call('agent.list', { includeIdle: include_idle, project })
    const shown = agents.map((agent) => ({ ...agent, idle: agent.status === 'idle' }))
    return Object.assign(shown, { abroad })
  }

  async getStatus(): Promise<ClientStatus> {
    const status = await this.#turn.call('workspace.status', {})
    const { agent = '', workspace: project, uptimeMs } = status
    return { ...status, connected: true, agentName: agent, project, uptime: uptimeText(uptimeMs) }
  }

  spawn(options: SpawnOptions): Promise<WorkerResult> {
    return workerResultOf(this.#turn.call('worker.spawn', options, this.#signal), this.#errorText)
  }

  release(name: string, reason?: string): Promise<WorkerResult> {
    return workerResultOf(this.#turn.call('worker.release', { name, reason }, this.#signal), this.#errorText)
  }

  readonly #errorText = (error: RelayError): string => messageFor(this.#reader, error)

  count(): Promise<OutputOf<'inbox.count'>> {
    return this.#turn.call('inbox.count', {})
  }
}

export function unknownRoleError(role: string, roles: readonly string[]): RelayError {
  return new RelayError(
    `There is no role "${clipText(role, 64)}". The roles of this lift: ${roles.join(', ')}.`,
    invalidInput,
  )
}

/** Parses the address of a message: several names, separated by commas, are a group. */
export function parseAddress(to: string): string | string[] {
  const names = to.split(',').map((name) => name.trim())
  return names.length > 1 ? names : to.trim()
}
