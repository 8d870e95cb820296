// The state of the host's MCP session and the identity of its agent, which the pipe tells a new daemon after a restart.

import { newWireId } from '@agent-relay/sdk/internal/wire-client'
import { isStatusTool, withLateToolsNote } from './away.cts'
import type { OpenCall } from './calls.cts'
import { helloLine, type PipeIdentity } from './opening.cts'
import { isEventSubscription, parseMessage, type RpcId, type RpcMessage, rpcLine } from './rpc.cts'

/** The prefix of the ids of the pipe's own requests, whose answers are not passed to the host. */
const prefix = 'agent-relay-pipe:'
export const initializedLine = rpcLine({ method: 'notifications/initialized' })
const gate = `${prefix}gate`

export class HostSession {
  readonly #identity: PipeIdentity
  readonly #subscribed = new Set<unknown>()
  #initialize: RpcMessage['params'] | undefined
  #level: RpcMessage['params'] | undefined
  /** The host's subscription to events, and the number of the last event that was sent to the host. */
  #events: { types: unknown; since: unknown } | undefined
  isInitialized = false
  /** Whether the host has its list of tools from a daemon. False if the pipe itself answered the host's first requests. */
  hasTools = true

  constructor(identity: PipeIdentity) {
    this.#identity = identity
  }

  get agentName(): string | undefined {
    return this.#identity.name ?? this.#identity.given
  }

  /** Whether the host's `initialize` was answered. */
  get hasBegun(): boolean {
    return this.#initialize !== undefined
  }

  /** Begins the session with an `initialize` request that the launcher's shell has answered. */
  begin(initialize: string): void {
    this.#initialize = parseMessage(Buffer.from(initialize))?.params ?? {}
    this.isInitialized = true
  }

  /** Stores the agent that the daemon named in WELCOME, to name it to the next daemon. */
  noteWelcome({ agent, given, token }: { agent?: string; given?: string; token?: string }): void {
    if (given !== undefined) this.#identity.given = given
    if (agent !== undefined) this.#identity.name = agent
    if (token !== undefined) this.#identity.token = token
  }

  helloFor(unanswered: RpcId[]): string {
    return helloLine(this.#identity, unanswered.length > 0 ? unanswered : undefined)
  }

  /** Updates the session by an answer of the daemon, and returns the line for the host. */
  takeAnswer(call: OpenCall | undefined, message: RpcMessage, line: Buffer): Buffer | string {
    if (!call || message.result === undefined) return line
    this.noteGranted(call, message.result)
    return !this.hasTools && isStatusTool(call.params?.name) ? withLateToolsNote(message) : line
  }

  /** Stores what a successful request has changed in the session, for the next daemon. */
  noteGranted({ method, params }: OpenCall, result: unknown): void {
    if (method === 'initialize') this.#initialize = params ?? {}
    else if (method === 'tools/list') this.hasTools = true
    else if (method === 'resources/subscribe') this.#subscribed.add(params?.uri)
    else if (method === 'resources/unsubscribe') this.#subscribed.delete(params?.uri)
    else if (method === 'logging/setLevel') this.#level = params
    else if (method === 'tools/call' && isEventSubscription(params)) this.#subscribe(params, result)
  }

  /** Stores the number of the last event that was sent to the host: the next daemon continues after it. */
  noteEventSent(seq: unknown): void {
    if (this.#events) this.#events.since = seq
  }

  #subscribe(params: RpcMessage['params'], result: unknown): void {
    const { pushed, cursor } = subscriptionOf(result)
    const { types } = (params?.arguments ?? {}) as { types?: unknown }
    if (pushed !== undefined) this.#events = pushed ? { types, since: cursor } : undefined
  }

  /** The lines that tell a new daemon the session's state. The last is a ping: its answer shows that the daemon serves the pipe. */
  replayLines(): string {
    const lines: string[] = []
    const ask = (method: string, params: RpcMessage['params']) =>
      lines.push(rpcLine({ id: `${prefix}${lines.length}`, method, params }))
    if (this.#initialize) ask('initialize', this.#initialize)
    if (this.#initialize && this.isInitialized) lines.push(initializedLine)
    for (const uri of this.#subscribed) ask('resources/subscribe', { uri })
    if (this.#events) ask('tools/call', { name: 'subscribe_events', arguments: this.#events })
    if (this.#level) ask('logging/setLevel', this.#level)
    lines.push(rpcLine({ id: gate, method: 'ping' }))
    return lines.join('')
  }

  isOwnId(id: unknown): boolean {
    return typeof id === 'string' && id.startsWith(prefix)
  }

  isGateId(id: unknown): boolean {
    return id === gate
  }

  /** Takes a new pipe id, since the host starts a new session: under the old pipe id its requests would be taken for repeated ones. */
  startOver(): void {
    this.#identity.pipe = newWireId()
    this.#initialize = undefined
    this.#level = undefined
    this.#events = undefined
    this.#subscribed.clear()
    this.isInitialized = false
  }
}

/** Reads the fields of an answer to subscribe_events; an error has neither field. */
function subscriptionOf(result: unknown): { pushed?: boolean; cursor?: number } {
  try {
    const { content } = result as { content: [{ text: string }] }
    return JSON.parse(content[0].text) as { pushed?: boolean; cursor?: number }
  } catch {
    return {}
  }
}
