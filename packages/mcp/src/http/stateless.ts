// MCP 2026-07-28 over HTTP, which is stateless. State that outlives a request (messages handed out, hints, subscriptions) is kept by the caller's
// `identity`.

import { RelayError } from '@agent-relay/sdk'
import { makeIds } from '@agent-relay/sdk/protocol'
import {
  createMcpHandler,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import type { HintMemory } from '../calling.ts'
import { ActionWatch, ResourceSubscriptions } from '../push.ts'
import { resources } from '../resources.ts'
import { createServer } from '../server.ts'
import { actionScopeOf, shownActionsNotifier } from '../tools/actions.ts'
import type { Tool } from '../tools/tool.ts'
import {
  type HttpCaller,
  type HttpExchange,
  type McpHttpLimits,
  type RelaySession,
  type ToolChoice,
  tooManySessionsResponse,
  turnSettledByDelivery,
} from './exchange.ts'
import { Keeper } from './keeper.ts'

export class StatelessHttp {
  readonly #limits: McpHttpLimits
  readonly #identities: Keeper<Promise<StatelessIdentity>>

  constructor(limits: McpHttpLimits) {
    this.#limits = limits
    this.#identities = new Keeper({
      idleMs: limits.idleMs,
      countMax: limits.sessionsMax,
      end: (opening) => void opening.then((identity) => identity.end()).catch(() => {}),
    })
  }

  async serve(exchange: HttpExchange, posted: unknown, tools: ToolChoice): Promise<Response> {
    const { answerLeft } = exchange
    const { caller, body, tokenError } = takeToken(exchange.caller, posted, tools.list)
    const opening = this.#identities.get(caller.identity) ?? this.#open(caller)
    if (opening === undefined) return tooManySessionsResponse()
    const release = this.#identities.markInUse(caller.identity)
    void answerLeft.then(release)
    const identity = await opening
    return identity.serve(exchange, body, tools, tokenError)
  }

  close(): void {
    this.#identities.clear()
  }

  #open(caller: HttpCaller): Promise<StatelessIdentity> | undefined {
    const drop = () => this.#identities.endNow(caller.identity, opening)
    const opening = caller.open('stateless').then((relay) => {
      relay.client.on('disconnect', drop)
      return new StatelessIdentity(relay, this.#limits)
    })
    if (!this.#identities.put(caller.identity, opening)) {
      void opening.then((identity) => identity.end()).catch(() => {})
      return undefined
    }
    opening.catch(drop)
    return opening
  }
}

/** One agent in one workspace, or a caller without an agent: all its stateless calls share this. */
class StatelessIdentity {
  readonly #relay: RelaySession
  readonly #limits: McpHttpLimits
  readonly #memory: HintMemory = { newestHinted: new Map() }
  readonly #ids = makeIds()
  /** MCP handlers by their choice of tools. Each has an event bus of its own: on a shared bus, one agent would be notified of another agent's inbox. */
  readonly #handlers = new Map<string, McpHttpHandler>()
  readonly #requests = new WeakMap<Request, { answerLeft: Promise<boolean>; tokenError?: Error }>()

  constructor(relay: RelaySession, limits: McpHttpLimits) {
    this.#relay = relay
    this.#limits = limits
  }

  /** `tokenError`: the token is invalid, and every tool call returns this error. */
  async serve(
    { request, answerLeft }: HttpExchange,
    body: unknown,
    tools: ToolChoice,
    tokenError?: Error,
  ): Promise<Response> {
    this.#requests.set(request, { answerLeft, tokenError })
    const handler = this.#handlers.get(tools.name) ?? this.#handlerFor(tools)
    return handler.fetch(request, body === undefined ? {} : { parsedBody: body })
  }

  end(): void {
    for (const handler of this.#handlers.values()) void handler.close()
    this.#handlers.clear()
    void this.#relay.client.disconnect()
  }

  #handlerFor({ name, list }: ToolChoice): McpHttpHandler {
    const { client, turn } = this.#relay
    const factory = ({ requestInfo }: { requestInfo?: Request }) => {
      const { answerLeft = Promise.resolve(false), tokenError } = (requestInfo && this.#requests.get(requestInfo)) ?? {}
      return createServer(client, {
        ...this.#relay.options,
        // A stateless caller gets no automatic agent: the client's name in one call would not identify the caller of the next.
        introduce: async () => {
          if (tokenError) throw tokenError
        },
        tools: list,
        hintMemory: this.#memory,
        isStateless: true,
        // Each turn gets a new id: stateless clients reuse their JSON-RPC ids, so these cannot identify a repeated command.
        openTurn: () => turnSettledByDelivery(answerLeft, turn(this.#ids('c'))),
      })
    }
    const { bodyBytesMax, keepAliveMs } = this.#limits
    const subscriptions = new ResourceSubscriptions(client, {
      resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
    })
    const scope = actionScopeOf(list)
    const tell = () => handler.notify.toolsChanged()
    const actions = scope && new ActionWatch(client, () => shownActionsNotifier(client, scope, tell))
    const handler = createMcpHandler(factory, {
      legacy: 'reject',
      bus: new WatchingBus(subscriptions, actions),
      // The stream is opened at once, so that a long wait is not taken for a dead server.
      responseMode: 'sse',
      maxRequestBodySize: bodyBytesMax,
      keepAliveMs,
    })
    this.#handlers.set(name, handler)
    return handler
  }
}

/** An event bus that watches the relay only while a client listens. */
class WatchingBus implements ServerEventBus {
  readonly #bus = new InMemoryServerEventBus()
  readonly #subscriptions: ResourceSubscriptions
  readonly #actions: ActionWatch | undefined

  constructor(subscriptions: ResourceSubscriptions, actions: ActionWatch | undefined) {
    this.#subscriptions = subscriptions
    this.#actions = actions
  }

  publish(event: ServerEvent): void {
    this.#bus.publish(event)
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    for (const { listing } of resources) this.#subscriptions.add(listing.uri)
    this.#actions?.start()
    const unsubscribe = this.#bus.subscribe(listener)
    return () => {
      unsubscribe()
      if (this.#bus.listenerCount > 0) return
      this.#subscriptions.clear()
      this.#actions?.stop()
    }
  }
}

interface IdentifiedCall {
  /** The caller that the call acts as: the token's agent, or else the caller itself. */
  caller: HttpCaller
  body: unknown
  /** Set if the token is invalid here: the call acts as nobody, and returns this error. */
  tokenError?: Error
}

const tokenPattern = /^at_[\w-]+$/

/** Takes the agent's token out of a call's arguments, before any tool or action sees it: it is a credential. */
function takeToken(caller: HttpCaller, body: unknown, tools: readonly Tool[]): IdentifiedCall {
  const token = tools.some(({ name }) => name === 'register_agent') ? tokenIn(body) : undefined
  if (token === undefined) return { caller, body }
  const rest = withoutToken(body as ToolsCall)
  try {
    return { caller: caller.withAgentToken(token), body: rest }
  } catch {
    const message = 'The agent_token is not valid here, or its day is over. Call register_agent without it for another.'
    return { caller, body: rest, tokenError: new RelayError(message, { code: 'auth.required' }) }
  }
}

interface ToolsCall {
  method: 'tools/call'
  params: { arguments: Record<string, unknown> }
}

/** The token in a call. A text that does not look like one of our tokens may be an action's own argument. */
function tokenIn(body: unknown): string | undefined {
  const { method, params } = (body ?? {}) as Partial<ToolsCall>
  const token = method === 'tools/call' ? params?.arguments?.agent_token : undefined
  return typeof token === 'string' && tokenPattern.test(token) ? token : undefined
}

function withoutToken(body: ToolsCall): ToolsCall {
  const { agent_token: _, ...rest } = body.params.arguments
  return { ...body, params: { ...body.params, arguments: rest } }
}
