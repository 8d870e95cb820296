// MCP over HTTP as handlers of web-standard requests: MCP 2025 (sessions) and MCP 2026 (stateless) on `/mcp`, MCP 2024 on `/sse`. The daemon checks
// hosts and credentials and mounts the routes (relay/src/wires).

import { JsonDepthError, parseJson } from '@agent-relay/sdk/protocol'
import { isJsonContentType, isLegacyRequest, readRequestBody } from '@modelcontextprotocol/server'
import { httpToolsets, toolsOf } from '../tools/toolsets.ts'
import { boundedResponse } from './bounded-stream.ts'
import {
  type HttpExchange,
  type McpHttpLimits,
  mcpHttpLimits,
  requestIds,
  rpcErrorResponse,
  type ToolChoice,
} from './exchange.ts'
import { SessionsHttp } from './sessions.ts'
import { SseHttp } from './sse.ts'
import { StatelessHttp } from './stateless.ts'

/** Maximum length in characters of a JSON-RPC id, which becomes part of a command's id and is stored. */
const rpcIdCharsMax = 100

export class McpHttp {
  readonly #limits: McpHttpLimits
  readonly #sessions: SessionsHttp
  readonly #stateless: StatelessHttp
  readonly #sse: SseHttp

  constructor(limits: Partial<McpHttpLimits> = {}) {
    this.#limits = { ...mcpHttpLimits, ...limits }
    this.#sessions = new SessionsHttp(this.#limits)
    this.#stateless = new StatelessHttp(this.#limits)
    this.#sse = new SseHttp(this.#limits)
  }

  /** `/mcp`: serves a stateless request (MCP 2026) on its own, and every other request in the session that its header names. */
  async serveMcp(exchange: HttpExchange): Promise<Response> {
    const { request } = exchange
    const tools = chooseTools(exchange)
    if (tools instanceof Response) return tools
    const body = request.method === 'POST' ? await this.#read(request) : undefined
    if (body instanceof Response) return body
    const isSession = await isLegacyRequest(request, body)
    const served = isSession ? this.#sessions : this.#stateless
    return boundedResponse(await served.serve(exchange, body, tools), this.#limits)
  }

  /** `GET /sse`: opens the stream of an MCP 2024 session. */
  async openSse(exchange: HttpExchange): Promise<Response> {
    const tools = chooseTools(exchange)
    return tools instanceof Response ? tools : this.#sse.open(exchange, tools)
  }

  /** `POST /messages`: takes a message from the client of a session that `GET /sse` has opened. */
  async receiveMessages({ request, caller }: HttpExchange): Promise<Response> {
    const body = await this.#read(request)
    return body instanceof Response ? body : this.#sse.receive(request, caller, body)
  }

  /** Ends every session and stream. */
  close(): void {
    this.#sessions.close()
    this.#stateless.close()
    this.#sse.close()
  }

  async #read(request: Request): Promise<unknown> {
    if (!isJsonContentType(request.headers.get('content-type')))
      return rpcErrorResponse(415, -32000, 'Unsupported Media Type: Content-Type must be application/json')
    const { bodyBytesMax } = this.#limits
    const read = await readRequestBody(request, bodyBytesMax)
    if (read.tooLarge) return rpcErrorResponse(413, -32000, `A request is at most ${bodyBytesMax} bytes`)
    let body: unknown
    try {
      body = parseJson(read.text)
    } catch (error) {
      const why = error instanceof JsonDepthError ? error.message : 'not valid JSON'
      return rpcErrorResponse(400, -32700, `Parse error: the body is ${why}`)
    }
    if (requestIds(body).some((id) => String(id).length > rpcIdCharsMax))
      return rpcErrorResponse(400, -32600, `Invalid Request: an id is at most ${rpcIdCharsMax} characters`)
    return body
  }
}

function chooseTools({ request, caller }: HttpExchange): ToolChoice | Response {
  try {
    const { onlyTools } = caller
    const asked = new URL(request.url).searchParams.get('tools') ?? undefined
    if (onlyTools !== undefined && asked !== undefined && asked !== onlyTools)
      return rpcErrorResponse(400, -32602, `This port serves the toolset ${onlyTools} and no other: leave "tools" out.`)
    const list = toolsOf(asked ?? onlyTools ?? httpToolsets)
    return { name: list.map((tool) => tool.name).join(), list }
  } catch (error) {
    return rpcErrorResponse(400, -32602, (error as Error).message)
  }
}

export { type HttpCaller, type HttpExchange, type McpHttpLimits, mcpHttpLimits, type RelaySession } from './exchange.ts'
