// A scripted model on loopback that the real CLIs take for theirs: Anthropic Messages, OpenAI Responses and chat completions, Gemini.
// The newest text that it is sent decides its answer: `use TOOL {json}` calls that tool, `slow N` streams for N seconds,
// `refuse this` is answered by an error until `go on` comes after it, since a CLI says it again; else it says ACK.
// A test may answer instead of it, and sees the results of tools as the model does.

import { createServer } from 'node:http'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let made = 0
const newId = (prefix) => `${prefix}_${Date.now().toString(36)}${(made++).toString(36)}`

/** All text in a piece of content, whatever its shape. */
function flat(content) {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(flat).join('\n')
  return content?.text ?? content?.content?.text ?? (Array.isArray(content?.content) ? flat(content.content) : '')
}

/** What a model is given as the result of a tool, block by block. */
function blocksOf(content) {
  return Array.isArray(content) ? content.map((block) => block.text ?? JSON.stringify(block)) : [content]
}

/** What came after the model's own last word: only that can ask for something new. */
const after = (items, isModel) => items.slice(items.findLastIndex(isModel) + 1)

/** The shortest JSON from the first brace on: an object in it has braces of its own. */
function argumentsIn(text) {
  const line = text.slice(text.indexOf('{')).split('\n')[0].replaceAll('\\"', '"')
  for (let end = line.indexOf('}'); end >= 0; end = line.indexOf('}', end + 1)) {
    try {
      return JSON.parse(line.slice(0, end + 1))
    } catch {
      // It goes on.
    }
  }
  throw new Error(`no arguments in ${line}`)
}

function decide({ text, tools, results }) {
  const asked = [...text.matchAll(/use (\w+) (\{[^\n]*?\})/g)].at(-1)
  if (asked && tools.length > 0) {
    const named = (isIt) => tools.findLast(({ name }) => name !== undefined && isIt(name))
    // Copilot joins the names of a server and its tool by a hyphen.
    const isEnd = (name) => name.endsWith(`_${asked[1]}`) || name.endsWith(`-${asked[1]}`)
    const tool = named((name) => name === asked[1]) ?? named(isEnd)
    return tool ? { tool, args: argumentsIn(text.slice(asked.index)) } : { text: `NO TOOL ${asked[1]}` }
  }
  if (tools.length > 0 && /refuse this(?![\s\S]*go on)/.test(text)) return { isRefused: true }
  const slow = /slow (\d+)/.exec(text)
  if (slow && tools.length > 0) return { text: words(4 * Number(slow[1])), wordMs: 250 }
  return { text: results.length > 0 ? 'FINAL' : `ACK ${text.trim().slice(-40)}` }
}

/** No two alike: Gemini CLI takes repetition for a loop, and opens a dialog. */
const words = (count) => Array.from({ length: count }, (_, at) => `word${at} `).join('')

/** Server-sent events, and the answer in pieces where it should take its time. */
function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  return (data, event) => response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`)
}

async function inPieces({ text, wordMs }, write) {
  if (!wordMs) return write(text)
  for (const word of text.split(/(?<= )/)) {
    write(word)
    await sleep(wordMs)
  }
}

function json(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

const anthropic = {
  path: /\/messages$/,
  heard({ messages = [], tools = [] }) {
    const recent = after(messages, ({ role }) => role === 'assistant')
    const parts = recent.flatMap(({ content }) =>
      Array.isArray(content) ? content : [{ type: 'text', text: content }],
    )
    return {
      text: flat(parts.filter(({ type }) => type === 'text')),
      results: parts.filter(({ type }) => type === 'tool_result').map(({ content }) => blocksOf(content)),
      tools: tools.map(({ name }) => ({ name })),
    }
  },
  async answer(response, body, said) {
    const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const block = said.tool
      ? { type: 'tool_use', id: newId('toolu'), name: said.tool.name, input: said.args }
      : { type: 'text', text: said.text }
    const stop_reason = said.tool ? 'tool_use' : 'end_turn'
    const head = { id: newId('msg'), type: 'message', role: 'assistant', model: body.model, stop_sequence: null, usage }
    if (!body.stream) return json(response, { ...head, content: [block], stop_reason })
    const send = stream(response)
    const say = (type, rest) => send({ type, ...rest }, type)
    say('message_start', { message: { ...head, content: [], stop_reason: null } })
    const empty = said.tool ? { ...block, input: {} } : { type: 'text', text: '' }
    say('content_block_start', { index: 0, content_block: empty })
    const delta = (delta) => say('content_block_delta', { index: 0, delta })
    if (said.tool) delta({ type: 'input_json_delta', partial_json: JSON.stringify(said.args) })
    else await inPieces(said, (text) => delta({ type: 'text_delta', text }))
    say('content_block_stop', { index: 0 })
    say('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })
    say('message_stop', {})
    response.end()
  },
}

const responses = {
  path: /\/responses$/,
  heard({ input = [], tools = [] }) {
    const items = Array.isArray(input) ? input : [{ role: 'user', content: input }]
    const recent = after(items, ({ type, role }) => role === 'assistant' || /_call$/.test(type ?? ''))
    return {
      text: flat(recent.filter(({ role }) => role === 'user').map(({ content }) => content)),
      results: recent.filter(({ type }) => /_call_output$/.test(type ?? '')).map(({ output }) => blocksOf(output)),
      tools: tools.flatMap((tool) =>
        tool.type === 'namespace'
          ? tool.tools.map(({ name }) => ({ name, namespace: tool.name }))
          : [{ name: tool.name, ...(tool.type === 'custom' ? { isFreeform: true } : {}) }],
      ),
    }
  },
  async answer(response, body, said) {
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const head = { id: newId('resp'), object: 'response', created_at: 1, model: body.model, output: [] }
    const { isFreeform, ...called } = said.tool ?? {}
    const given = isFreeform
      ? { type: 'custom_tool_call', input: said.args.input }
      : { type: 'function_call', arguments: JSON.stringify(said.args) }
    const item = said.tool
      ? { id: newId('fc'), call_id: newId('call'), ...called, ...given }
      : {
          type: 'message',
          id: newId('msg'),
          role: 'assistant',
          content: [{ type: 'output_text', text: said.text, annotations: [] }],
        }
    const completed = { ...head, status: 'completed', output: [item], usage }
    if (!body.stream) return json(response, completed)
    const send = stream(response)
    const say = (type, rest) => send({ type, ...rest }, type)
    say('response.created', { response: { ...head, status: 'in_progress' } })
    const place = { item_id: item.id, output_index: 0, content_index: 0 }
    say('response.output_item.added', {
      output_index: 0,
      item: said.tool ? { ...item, [isFreeform ? 'input' : 'arguments']: '' } : { ...item, content: [] },
    })
    if (!said.tool) await inPieces(said, (delta) => say('response.output_text.delta', { ...place, delta }))
    say('response.output_item.done', { output_index: 0, item })
    say('response.completed', { response: completed })
    response.end()
  },
}

const chat = {
  path: /\/chat\/completions$/,
  heard({ messages = [], tools = [] }) {
    const recent = after(messages, ({ role }) => role === 'assistant')
    return {
      text: flat(recent.filter(({ role }) => role === 'user').map(({ content }) => content)),
      results: recent.filter(({ role }) => role === 'tool').map(({ content }) => blocksOf(content)),
      tools: tools.map((tool) => ({ name: tool.function?.name })),
    }
  },
  async answer(response, body, said) {
    const head = { id: newId('chatcmpl'), created: 1, model: body.model }
    const called = { name: said.tool?.name, arguments: JSON.stringify(said.args) }
    const tool_calls = said.tool && [{ index: 0, id: newId('call'), type: 'function', function: called }]
    const finish_reason = said.tool ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    if (!body.stream) {
      const message = { role: 'assistant', content: said.text ?? null, tool_calls }
      return json(response, {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage,
      })
    }
    const send = stream(response)
    const say = (delta, finish_reason = null) =>
      send({
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason }],
        usage: finish_reason && usage,
      })
    say({ role: 'assistant', content: '' })
    if (tool_calls) say({ tool_calls })
    else await inPieces(said, (content) => say({ content }))
    say({}, finish_reason)
    response.end('data: [DONE]\n\n')
  },
}

const gemini = {
  path: /\/models\/[^:]+:(?:g|streamG)enerateContent$/,
  heard({ contents = [], tools = [], generationConfig = {} }) {
    const parts = after(contents, ({ role }) => role === 'model').flatMap(({ parts = [] }) => parts)
    return {
      text: flat(parts.filter(({ text, thought }) => text && !thought)),
      results: parts.flatMap(({ functionResponse: given }) =>
        given ? [blocksOf(given.response.output ?? JSON.stringify(given.response))] : [],
      ),
      tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => ({ name }))),
      isForm: Boolean(generationConfig.responseJsonSchema ?? generationConfig.responseSchema),
    }
  },
  async answer(response, _, said, { isForm, text: newest }, path) {
    // So much that the CLI compacts its history before the next turn.
    const promptTokenCount = /say much/.test(newest) ? 900_000 : 10
    const usageMetadata = { promptTokenCount, candidatesTokenCount: 5, totalTokenCount: 15 }
    const one = (parts, finishReason) => ({
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }],
      usageMetadata,
    })
    // Questions about itself: which model to use, who speaks next.
    const form = {
      reasoning: 'x',
      model_choice: 'flash',
      complexity_reasoning: 'x',
      complexity_score: 10,
      next_speaker: 'user',
    }
    const text = isForm ? JSON.stringify(form) : said.text
    const parts = said.tool
      ? [{ functionCall: { id: newId('fc'), name: said.tool.name, args: said.args } }]
      : [{ text }]
    if (!path.includes(':stream')) return json(response, one(parts, 'STOP'))
    const send = stream(response)
    if (said.tool || isForm) send(one(parts))
    else await inPieces(said, (text) => send(one([{ text }])))
    send(one([{ text: '' }], 'STOP'))
    response.end()
  },
}

const apis = [anthropic, responses, chat, gemini]

/**
 * `onRequest` sees what each request asked for and what was said, for a test that has to tell why. `script` answers instead of the newest text,
 * unless it answers nothing.
 */
export async function startFakeModel(onRequest = () => {}, script = async () => undefined) {
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      const path = (request.url ?? '').split('?')[0]
      const api = request.method === 'POST' ? apis.find((each) => each.path.test(path)) : undefined
      try {
        if (/count_tokens$|:countTokens$/.test(path)) return json(response, { input_tokens: 42, totalTokens: 42 })
        if (!api) return json(response, { data: [{ id: 'fake-model', object: 'model' }], models: [] })
        const body = JSON.parse(Buffer.concat(chunks).toString())
        const heard = api.heard(body)
        const said = (await script(heard, body)) ?? decide(heard)
        onRequest({ path, body, heard, said, wallAt: Date.now() })
        if (said.isRefused) return json(response, { error: { type: 'invalid_request_error', message: 'refused' } }, 400)
        response.once('close', () => response.writableFinished || onRequest({ path, said, isCut: true }))
        await api.answer(response, body, said, heard, path)
      } catch (error) {
        onRequest({ path, error })
        response.destroy()
      }
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
