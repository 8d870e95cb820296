// The 2026-07-28 era: every request stands alone. What must outlast one (what was handed out and hinted, who listens) is kept by identity.

import { makeIds } from '@agent-relay/sdk/protocol'
import {
  createMcpHandler,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { ActionWatch, servesActions } from './action-tools.ts'
import { takeToken } from './agent-token.ts'
import type { Memory } from './calling.ts'
import {
  type Caller,
  type Exchange,
  type McpHttpLimits,
  onceLeft,
  type RelaySession,
  type ToolChoice,
  tooManySessions,
} from './exchange.ts'
import { createServer } from './index.ts'
import { Keeper } from './keeper.ts'
import { Subscriptions } from './push.ts'
import { resources } from './resources/index.ts'

export class StatelessHttp {
  readonly #limits: McpHttpLimits
  readonly #identities: Keeper<Promise<Identity>>

  constructor(limits: McpHttpLimits) {
    this.#limits = limits
    this.#identities = new Keeper({
      idleMs: limits.idleMs,
      countMax: limits.sessionsMax,
      end: (opening) => void opening.then((identity) => identity.end()).catch(() => {}),
    })
  }

  async serve(exchange: Exchange, posted: unknown, tools: ToolChoice): Promise<Response> {
    const { left } = exchange
    const { caller, body, refused } = takeToken(exchange.caller, posted, tools.list)
    const opening = this.#identities.get(caller.identity) ?? this.#open(caller)
    if (opening === undefined) return tooManySessions()
    const release = this.#identities.use(caller.identity)
    void left.then(release)
    const identity = await opening
    return identity.serve(exchange, body, tools, refused)
  }

  close(): void {
    this.#identities.clear()
  }

  #open(caller: Caller): Promise<Identity> | undefined {
    const drop = () => this.#identities.drop(caller.identity, opening)
    const opening = caller.open('stateless').then((relay) => {
      relay.client.on('disconnect', drop)
      return new Identity(relay, this.#limits)
    })
    if (!this.#identities.put(caller.identity, opening)) {
      void opening.then((identity) => identity.end()).catch(() => {})
      return undefined
    }
    opening.catch(drop)
    return opening
  }
}

/** One agent in one workspace, or nobody there: all its stateless calls share this. */
class Identity {
  readonly #relay: RelaySession
  readonly #limits: McpHttpLimits
  readonly #memory: Memory = { hinted: new Map() }
  readonly #ids = makeIds()
  /** By toolset. Each has a bus of its own: with a shared one, one agent would hear of another's inbox. */
  readonly #handlers = new Map<string, McpHttpHandler>()
  readonly #requests = new WeakMap<Request, { left: Promise<boolean>; refused?: Error }>()

  constructor(relay: RelaySession, limits: McpHttpLimits) {
    this.#relay = relay
    this.#limits = limits
  }

  /** `refused`: the call has shown a token that is none, and every tool says so. */
  async serve({ request, left }: Exchange, body: unknown, tools: ToolChoice, refused?: Error): Promise<Response> {
    this.#requests.set(request, { left, refused })
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
      const { left = Promise.resolve(false), refused } = (requestInfo && this.#requests.get(requestInfo)) ?? {}
      return createServer(client, {
        ...this.#relay.options,
        // Nobody stays nobody: what the client says of itself in one call names no agent for the next.
        introduce: async () => {
          if (refused) throw refused
        },
        tools: list,
        memory: this.#memory,
        isStateless: true,
        // JSON-RPC ids start anew with every client here, so they cannot name a command.
        turn: () => onceLeft(left, turn(this.#ids('c'))),
      })
    }
    const { bodyBytesMax, keepAliveMs } = this.#limits
    const subscriptions = new Subscriptions(client, {
      resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
    })
    const actions = servesActions(list) ? new ActionWatch(client, () => handler.notify.toolsChanged()) : undefined
    const handler = createMcpHandler(factory, {
      legacy: 'reject',
      bus: new WatchingBus(subscriptions, actions),
      // Opened at once, so that a long wait is not taken for a dead server.
      responseMode: 'sse',
      maxRequestBodySize: bodyBytesMax,
      keepAliveMs,
    })
    this.#handlers.set(name, handler)
    return handler
  }
}

/** Watches the relay only while somebody listens. */
class WatchingBus implements ServerEventBus {
  readonly #bus = new InMemoryServerEventBus()
  readonly #subscriptions: Subscriptions
  readonly #actions: ActionWatch | undefined

  constructor(subscriptions: Subscriptions, actions: ActionWatch | undefined) {
    this.#subscriptions = subscriptions
    this.#actions = actions
  }

  publish(event: ServerEvent): void {
    this.#bus.publish(event)
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    for (const { listed } of resources) this.#subscriptions.add(listed.uri)
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
