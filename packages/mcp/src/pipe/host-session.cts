// The host's MCP session and the identity of its agent: a new daemon must be told both after a restart.

import { newWireId } from '@agent-relay/sdk/internal/wire-client'
import { isStatusTool, withLateToolsNote } from './away.cts'
import type { OpenCall } from './calls.cts'
import { helloLine, type PipeIdentity } from './opening.cts'
import { isEventSubscription, parseMessage, type RpcId, type RpcMessage, rpcLine } from './rpc.cts'

/** The prefix of ids of the pipe's own requests: their answers are not for the host. */
const prefix = 'agent-relay-pipe:'
export const initializedLine = rpcLine({ method: 'notifications/initialized' })
const gate = `${prefix}gate`

export class HostSession {
  readonly #identity: PipeIdentity
  readonly #subscribed = new Set<unknown>()
  #initialize: RpcMessage['params'] | undefined
  #level: RpcMessage['params'] | undefined
  /** The host's subscription to events, and the number of the last event that it has. */
  #events: { types: unknown; since: unknown } | undefined
  isInitialized = false
  /** The host has asked a daemon for the list of tools. */
  hasTools = true

  constructor(identity: PipeIdentity) {
    this.#identity = identity
  }

  get agentName(): string | undefined {
    return this.#identity.name ?? this.#identity.given
  }

  /** The host has the answer to its `initialize`. */
  get hasBegun(): boolean {
    return this.#initialize !== undefined
  }

  /** Begins the session with a request that the launcher has answered. */
  begin(initialize: string): void {
    this.#initialize = parseMessage(Buffer.from(initialize))?.params ?? {}
    this.isInitialized = true
  }

  /** Notes the agent that the session acts as from now on, with the next daemon, too. */
  noteWelcome({ agent, given, token }: { agent?: string; given?: string; token?: string }): void {
    if (given !== undefined) this.#identity.given = given
    if (agent !== undefined) this.#identity.name = agent
    if (token !== undefined) this.#identity.token = token
  }

  helloFor(unanswered: RpcId[]): string {
    return helloLine(this.#identity, unanswered.length > 0 ? unanswered : undefined)
  }

  /** Takes in an answer of the daemon, and returns the line for the host. */
  takeAnswer(call: OpenCall | undefined, message: RpcMessage, line: Buffer): Buffer | string {
    if (!call || message.result === undefined) return line
    this.noteGranted(call, message.result)
    return !this.hasTools && isStatusTool(call.params?.name) ? withLateToolsNote(message) : line
  }

  /** Notes what a granted request has changed. */
  noteGranted({ method, params }: OpenCall, result: unknown): void {
    if (method === 'initialize') this.#initialize = params ?? {}
    else if (method === 'tools/list') this.hasTools = true
    else if (method === 'resources/subscribe') this.#subscribed.add(params?.uri)
    else if (method === 'resources/unsubscribe') this.#subscribed.delete(params?.uri)
    else if (method === 'logging/setLevel') this.#level = params
    else if (method === 'tools/call' && isEventSubscription(params)) this.#subscribe(params, result)
  }

  /** Notes an event that went to the host: a new daemon continues after it. */
  noteEventSent(seq: unknown): void {
    if (this.#events) this.#events.since = seq
  }

  #subscribe(params: RpcMessage['params'], result: unknown): void {
    const { pushed, cursor } = subscriptionOf(result)
    const { types } = (params?.arguments ?? {}) as { types?: unknown }
    if (pushed !== undefined) this.#events = pushed ? { types, since: cursor } : undefined
  }

  /** The lines that tell a new daemon the session's state. It answers the last one as soon as it serves the pipe. */
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

  /** Takes a new pipe id: the host starts again, and its request ids would pass for repeats under the old one. */
  startOver(): void {
    this.#identity.pipe = newWireId()
    this.#initialize = undefined
    this.#level = undefined
    this.#events = undefined
    this.#subscribed.clear()
    this.isInitialized = false
  }
}

/** The fields of an answer of subscribe_events. An error has neither. */
function subscriptionOf(result: unknown): { pushed?: boolean; cursor?: number } {
  try {
    const { content } = result as { content: [{ text: string }] }
    return JSON.parse(content[0].text) as { pushed?: boolean; cursor?: number }
  } catch {
    return {}
  }
}
