// MCP 2024 over HTTP (`/sse`): the client opens a stream of events, whose first event names the URL for its POST requests. Their answers arrive on
// the stream. The session lasts as long as the stream.

import { callId } from '@agent-relay/sdk/internal/call-id'
import type { JSONRPCMessage, MessageExtraInfo, RequestId, Transport } from '@modelcontextprotocol/server'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { createServer } from '../server.ts'
import {
  type HttpCaller,
  type HttpExchange,
  type McpHttpLimits,
  newSessionId,
  rpcErrorResponse,
  sessionNotFoundResponse,
  type ToolChoice,
  tooManySessionsResponse,
} from './exchange.ts'
import { Keeper } from './keeper.ts'

/** Maximum number of characters that wait for the client. A client that does not read its answers is not coming back, so its stream ends. */
const waitingCharsMax = 32 * 1024 * 1024
const rpcBatchMax = 100

interface SseSession {
  principal: string
  transport: SseTransport
}

export class SseHttp {
  readonly #limits: McpHttpLimits
  readonly #sessions: Keeper<SseSession>

  constructor(limits: McpHttpLimits) {
    this.#limits = limits
    this.#sessions = new Keeper({
      idleMs: limits.idleMs,
      countMax: limits.sessionsMax,
      end: ({ transport }) => void transport.close(),
    })
  }

  async open({ request, caller, answerLeft }: HttpExchange, { list }: ToolChoice): Promise<Response> {
    const relay = await caller.open('session')
    const id = newSessionId()
    // The URL for POST requests keeps this request's query parameters, such as the workspace.
    const query = new URL(request.url).searchParams
    query.set('sessionId', id)
    const transport = new SseTransport(`/messages?${query}`, this.#limits.keepAliveMs)
    const server = createServer(relay.client, {
      ...relay.options,
      tools: list,
      openTurn: (rpcId) => relay.turn(callId(id, rpcId)),
      onSent: (listener) => transport.onSent(listener),
    })
    const session = { principal: caller.principal, transport }
    const isKept = this.#sessions.put(id, session)
    // Marks the session as in use as long as its stream is open.
    const release = this.#sessions.markInUse(id)
    transport.onEnded = () => {
      release()
      this.#sessions.endNow(id, session)
      void relay.client.disconnect()
    }
    relay.client.on('disconnect', () => void transport.close())
    await server.connect(transport)
    void answerLeft.then(() => transport.close())
    if (!isKept) return tooManySessionsResponse()
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
    return new Response(transport.stream, { headers })
  }

  receive(request: Request, caller: HttpCaller, body: unknown): Response {
    const id = new URL(request.url).searchParams.get('sessionId') ?? ''
    const session = this.#sessions.get(id)
    if (session?.principal !== caller.principal) return sessionNotFoundResponse()
    const bodies: unknown[] = Array.isArray(body) ? body : [body]
    let messages: JSONRPCMessage[]
    try {
      if (bodies.length > rpcBatchMax) throw new Error('too many')
      messages = bodies.map((message) => parseJSONRPCMessage(message))
    } catch {
      return rpcErrorResponse(
        400,
        -32600,
        `Invalid Request: the body is not a JSON-RPC message, nor up to ${rpcBatchMax} of them`,
      )
    }
    for (const message of messages) session.transport.onmessage?.(message, { request })
    return new Response('Accepted', { status: 202 })
  }

  close(): void {
    this.#sessions.clear()
  }
}

interface SseEvent {
  text: string
  /** The id of the request that the event answers. */
  answers?: RequestId
}

class SseTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  /** Called when the stream has ended, by either side. */
  onEnded: () => void = () => {}
  readonly stream: ReadableStream<Uint8Array>
  readonly #encoder = new TextEncoder()
  readonly #queue: SseEvent[] = []
  readonly #sentListeners: ((id: RequestId) => void)[] = []
  readonly #keepAlive: ReturnType<typeof setInterval>
  /** The event that the reader was given last. It counts as sent when the reader asks for the next one. */
  #takenEvent: SseEvent | undefined
  #waitingChars = 0
  #wake: (() => void) | undefined
  #isClosed = false

  constructor(endpoint: string, keepAliveMs: number) {
    this.#push({ text: `event: endpoint\ndata: ${endpoint}\n\n` })
    this.#keepAlive = setInterval(() => this.#push({ text: ': keepalive\n\n' }), keepAliveMs)
    this.#keepAlive.unref?.()
    // With `highWaterMark: 0` an event is passed on only when the reader asks for it; otherwise nobody would know which answers were sent.
    this.stream = new ReadableStream(
      { pull: (controller) => this.#pull(controller), cancel: () => this.close() },
      { highWaterMark: 0 },
    )
  }

  async start(): Promise<void> {}

  /** Tells the listener of each answer that the reader has taken. */
  onSent(listener: (id: RequestId) => void): void {
    this.#sentListeners.push(listener)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('the stream has ended')
    const { id } = message as { id?: RequestId }
    const answers = 'method' in message ? undefined : id
    this.#push({ text: `event: message\ndata: ${JSON.stringify(message)}\n\n`, answers })
    if (this.#waitingChars > waitingCharsMax) await this.close()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#keepAlive)
    this.#wake?.()
    this.onEnded()
    this.onclose?.()
  }

  #push(event: SseEvent): void {
    this.#queue.push(event)
    this.#waitingChars += event.text.length
    this.#wake?.()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { answers } = this.#takenEvent ?? {}
    this.#takenEvent = undefined
    if (answers !== undefined) for (const sent of this.#sentListeners) sent(answers)
    if (this.#queue.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    this.#takenEvent = this.#queue.shift()
    if (this.#takenEvent === undefined) return controller.close()
    this.#waitingChars -= this.#takenEvent.text.length
    controller.enqueue(this.#encoder.encode(this.#takenEvent.text))
  }
}
