// A scripted model on loopback, for tests and the bench: it speaks Anthropic's Messages and OpenAI's chat completions, streamed or whole.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as the script sees it, whichever interface it came by. */
export interface Asked {
  api: 'anthropic' | 'openai'
  model: string
  /** The loop puts the contract here. */
  system: string
  /** What a person or the relay said, in order. */
  user: string[]
  /** What tools answered, in order. */
  results: string[]
  tools: string[]
  /** `Your agent_id is …`, as the prompt says it. */
  agentId: string
}

export interface Reply {
  text?: string
  calls?: { name: string; args: object }[]
  /** Another status, with this as the body. */
  status?: number
  /** Sent as it is, whatever it is. */
  raw?: string
  tokens?: number
}

export type Script = (asked: Asked) => Reply | Promise<Reply>

type Json = Record<string, unknown>

export class ModelServer {
  readonly asked: Asked[] = []
  /** Answers that have left whole. */
  answered = 0
  readonly #server: Server
  #script: Script

  private constructor(server: Server, script: Script) {
    this.#server = server
    this.#script = script
  }

  static async start(script: Script = () => ({ text: 'Hello.' })): Promise<ModelServer> {
    const server = createServer((request, response) => void model.#serve(request, response))
    const model = new ModelServer(server, script)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return model
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  script(script: Script): void {
    this.#script = script
    this.asked.length = 0
    this.answered = 0
  }

  /** As the daemon's environment names it. */
  env(provider: 'anthropic' | 'openai-compatible' = 'anthropic'): Record<string, string> {
    return {
      RELAY_LLM_PROVIDER: provider,
      RELAY_LLM_BASE_URL: this.url,
      RELAY_LLM_API_KEY: 'test-key',
      RELAY_MODEL: 'scripted',
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const body = JSON.parse(text) as Json
    const isAnthropic = request.url?.endsWith('/messages') ?? false
    const asked = isAnthropic ? fromAnthropic(body) : fromOpenAi(body)
    this.asked.push(asked)
    const reply = await this.#script(asked)
    response.on('finish', () => this.answered++)
    if (reply.raw !== undefined || reply.status !== undefined) {
      response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream' })
      return void response.end(reply.raw ?? JSON.stringify({ error: { message: 'scripted to fail' } }))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(isAnthropic ? anthropicStream(reply) : openAiStream(reply))
  }
}

const flat = (content: unknown): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: Json) => (part.type === 'text' ? String(part.text) : '')).join('')
}

function asked(api: Asked['api'], body: Json, system: string, rest: Pick<Asked, 'user' | 'results' | 'tools'>): Asked {
  const agentId = /agent_id is (\w+)/.exec(system)?.[1] ?? ''
  return { api, model: String(body.model), system, agentId, ...rest }
}

function fromAnthropic(body: Json): Asked {
  const messages = body.messages as Json[]
  const parts = messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : [{ type: 'text', text: content }]))
  return asked('anthropic', body, flat(body.system), {
    user: parts.filter(({ type }) => type === 'text').map(({ text }) => String(text)),
    results: parts.filter(({ type }) => type === 'tool_result').map(({ content }) => flat(content)),
    tools: ((body.tools ?? []) as Json[]).map(({ name }) => String(name)),
  })
}

function fromOpenAi(body: Json): Asked {
  const messages = body.messages as Json[]
  const of = (role: string) => messages.filter((each) => each.role === role).map(({ content }) => flat(content))
  return asked('openai', body, of('system').join('\n'), {
    user: of('user'),
    results: of('tool'),
    tools: ((body.tools ?? []) as { function: Json }[]).map((each) => String(each.function.name)),
  })
}

let calls = 0

function anthropicStream({ text, calls: wanted = [], tokens = 10 }: Reply): string {
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const usage = { input_tokens: tokens, output_tokens: 5 }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content: [], usage }
  const out = [event('message_start', { message: { ...head, stop_reason: null, stop_sequence: null } })]
  const blocks: { start: object; delta: object }[] = []
  if (text !== undefined) blocks.push({ start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } })
  for (const { name, args } of wanted) {
    const start = { type: 'tool_use', id: `toolu_${calls++}`, name, input: {} }
    blocks.push({ start, delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) } })
  }
  blocks.forEach(({ start, delta }, index) => {
    out.push(event('content_block_start', { index, content_block: start }))
    out.push(event('content_block_delta', { index, delta }), event('content_block_stop', { index }))
  })
  const stop_reason = wanted.length > 0 ? 'tool_use' : 'end_turn'
  out.push(event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } }))
  return [...out, event('message_stop', {})].join('')
}

function openAiStream({ text, calls: wanted = [], tokens = 10 }: Reply): string {
  const chunk = (delta: object, finish_reason: string | null = null, extra: object = {}) => {
    const data = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'scripted' }
    return `data: ${JSON.stringify({ ...data, choices: [{ index: 0, delta, finish_reason }], ...extra })}\n\n`
  }
  const tool_calls = wanted.map(({ name, args }, index) => {
    const called = { name, arguments: JSON.stringify(args) }
    return { index, id: `call_${calls++}`, type: 'function', function: called }
  })
  const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(text === undefined ? [] : [chunk({ content: text })]),
    ...(tool_calls.length === 0 ? [] : [chunk({ tool_calls })]),
    chunk({}, wanted.length > 0 ? 'tool_calls' : 'stop', { usage }),
    'data: [DONE]\n\n',
  ].join('')
}
