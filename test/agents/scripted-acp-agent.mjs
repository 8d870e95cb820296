// An agent without a model that speaks ACP on its stdin and stdout, well or badly: an MCP client of the official SDK, and a log of every prompt.
// It obeys what it finds in a prompt: `call TOOL {json}`, `busy MS`, `say WORD`, `ask N TITLE`, `refuse MS`, `spends {json}`, `hang`, `exit CODE`, `writes FILE`,
// which asks first, `slips FILE`, which does not, `runs 'COMMAND'`, which asks and runs nothing, and the faults `big BYTES`, `wide N BYTES`, `huge BYTES`, `garbage`, `unknown`, `deaf`.
//
// With `--loads FILE` it opens a conversation again that has begun, which that file remembers, and first repeats it.
//
//   node scripted-acp-agent.mjs --log FILE [--at-start hang|exit|version|garbage] [--stay] [--wire] [--refuses N] [--loads FILE]

import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { resolve as absolute } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const option = (name) => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}
const log = (entry) => appendFileSync(option('--log'), `${JSON.stringify({ at: Date.now(), ...entry })}\n`)
/** As Date.now(), with the fractions that a benchmark needs. */
const fineNow = () => performance.timeOrigin + performance.now()
const isLogged = process.argv.includes('--wire')
const wire = (from, message) => isLogged && log({ event: 'wire', text: from, message })
const write = (message) => {
  wire('agent', message)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
const atStart = option('--at-start')
let refusals = Number(option('--refuses') ?? Number.POSITIVE_INFINITY)
const isStaying = process.argv.includes('--stay')
if (isStaying) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})

const sessionId = 'scripted-session'
const memory = option('--loads')
const asked = new Map()
let [calls, requests, open, isCancelled, onCancel] = [undefined, 0, 0, false, () => {}]

const update = (text) =>
  write({
    method: 'session/update',
    params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  })

function request(method, params) {
  const id = `r${requests++}`
  return new Promise((resolve) => {
    asked.set(id, resolve)
    write({ id, method, params })
  })
}

const options = [
  { optionId: 'yes-once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'yes-always', name: 'Allow always', kind: 'allow_always' },
  { optionId: 'no', name: 'Deny', kind: 'reject_once' },
]

async function ask(title, at) {
  const kind = title.startsWith('mcp__') ? 'other' : 'execute'
  // As Gemini asks: without the input.
  const more = title.startsWith('loose') ? { description: 'harmless', timeout: 9, sandbox: 'off' } : {}
  const rawInput = title.startsWith('bare') ? undefined : { command: title, ...more }
  const toolCall = { toolCallId: `tool-${at}`, title, kind, rawInput, status: 'pending' }
  const askedAt = fineNow()
  const answer = await request('session/request_permission', { sessionId, toolCall, options })
  const answeredAt = fineNow()
  const { outcome } = answer.result ?? {}
  const said = outcome?.optionId ?? outcome?.outcome ?? answer.error.message
  log({ event: 'permission', text: title, outcome: said, askedAt, answeredAt })
}

async function edit(file, at, isAsked) {
  const path = absolute(file)
  const toolCall = { toolCallId: `edit-${requests}-${at}`, title: `Write ${file}`, kind: 'edit', locations: [{ path }] }
  const tell = (sessionUpdate, more) =>
    write({ method: 'session/update', params: { sessionId, update: { sessionUpdate, ...more } } })
  // The request for permission says less than this, as those of some adapters do.
  const diff = { type: 'diff', path, oldText: null, newText: `${process.env.RELAY_AGENT_NAME}\n` }
  tell('tool_call', { ...toolCall, content: [diff], status: 'pending' })
  const answer = isAsked && (await request('session/request_permission', { sessionId, toolCall, options }))
  const { outcome } = answer.result ?? {}
  if (isAsked) log({ event: 'permission', text: file, outcome: outcome?.optionId ?? outcome?.outcome })
  const isAllowed = !isAsked || outcome?.optionId?.startsWith('yes')
  if (isAllowed) writeFileSync(path, `${process.env.RELAY_AGENT_NAME}\n`)
  tell('tool_call_update', { toolCallId: toolCall.toolCallId, status: isAllowed ? 'completed' : 'failed' })
}

async function obey(text) {
  for (const [, ms] of text.matchAll(/\bbusy (\d+)/g))
    for (const end = Date.now() + Number(ms); Date.now() < end && !isCancelled; await sleep(5)) update('working ')
  for (const [, word] of text.matchAll(/\bsay (\w+)/g)) update(`${word}\n`)
  for (const [, tool, json] of text.matchAll(/\bcall (\w+) (\{.*\})/g)) {
    const answer = await calls?.callTool({ name: tool, arguments: JSON.parse(json) })
    log({ event: 'answered', tool, text: answer?.content[0].text, isError: answer?.isError })
  }
  for (const [, count, title] of text.matchAll(/\bask (\d+) (\w+)/g))
    await Promise.all(Array.from({ length: Number(count) }, (_, at) => ask(title, at)))
  const edits = [...text.matchAll(/\bwrites (\S+)/g)].map(([, file], at) => edit(file, at, true))
  // Not where there are none: what comes with the prompt, such as its end, must find it at work.
  if (edits.length > 0) await Promise.all(edits)
  for (const [, file] of text.matchAll(/\bslips (\S+)/g)) await edit(file, 0, false)
  for (const [, command] of text.matchAll(/\bruns '([^']+)'/g)) await ask(command, 0)
  for (const [, count, bytes] of text.matchAll(/\bwide (\d+) (\d+)/g))
    await Promise.all(
      Array.from({ length: Number(count) }, (_, at) => {
        const toolCall = { toolCallId: `wide-${at}`, title: 'wide', rawInput: { text: 'x'.repeat(Number(bytes)) } }
        return request('session/request_permission', { sessionId, toolCall, options })
      }),
    )
  for (const [, bytes] of text.matchAll(/\bbig (\d+)/g)) update('x'.repeat(Number(bytes)))
  for (const [, bytes] of text.matchAll(/\bhuge (\d+)/g)) {
    const toolCall = { toolCallId: 'huge', title: 'huge', rawInput: 'x'.repeat(Number(bytes)) }
    const answer = await request('session/request_permission', { sessionId, toolCall, options })
    log({ event: 'huge', text: answer.error?.message ?? 'answered' })
  }
  if (/\bgarbage\b/.test(text))
    process.stdout.write('not json\n[1,2]\n"text"\nnull\n\n{"id":999,"result":{}}\n\xff\xfe\n')
  if (/\bunknown\b/.test(text))
    for (const method of ['fs/read_text_file', 'fs/write_text_file', 'terminal/create', 'nobody/knows'])
      log({
        event: 'unknown',
        text: method,
        code: (await request(method, { sessionId, path: '/etc/passwd' })).error.code,
      })
  if (/\bdeaf\b/.test(text)) {
    lines.pause()
    process.stdin.pause()
    // Each is answered with its id.
    for (let at = 0; at < 400; at++) write({ id: `${at}${'x'.repeat(65_536)}`, method: 'nobody/knows', params: {} })
    await new Promise(() => {})
  }
  const code = /\bexit (\d+)/.exec(text)?.[1]
  if (code !== undefined) process.exit(Number(code))
  if (/\bhang\b/.test(text)) await new Promise((resolve) => (onCancel = resolve))
}

async function prompt(id, { prompt: [{ text }] }) {
  if (memory !== undefined) writeFileSync(memory, '')
  log({ event: open > 0 ? 'submitted-while-busy' : 'submitted', text })
  open++
  const refusal = /\brefuse(?: (\d+))?/.exec(text)
  if (refusal && refusals-- > 0) {
    await sleep(Number(refusal[1] ?? 0))
    open--
    return write({ id, error: { code: -32000, message: 'Authentication required' } })
  }
  isCancelled = false
  await obey(text)
  open--
  const told = /\bspends (\{.*\})/.exec(text)?.[1]
  const { cost, ...end } = told === undefined ? { usage: { inputTokens: 12, outputTokens: 3 } } : JSON.parse(told)
  if (cost !== undefined)
    write({
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'usage_update', used: 1, size: 2, cost } },
    })
  write({ id, result: { stopReason: isCancelled ? 'cancelled' : 'end_turn', ...end } })
}

async function connect([server]) {
  if (server === undefined) return
  const { Client } = await import('@modelcontextprotocol/client')
  calls = new Client({ name: 'scripted', version: '1' })
  const listed = (pairs = []) => Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
  if (server.type === 'http') {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const requestInit = { headers: listed(server.headers) }
    return calls.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }))
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  await calls.connect(
    new StdioClientTransport({ ...server, env: { ...process.env, ...listed(server.env) }, stderr: 'ignore' }),
  )
}

const handlers = {
  initialize(id) {
    if (atStart === 'hang') return
    if (atStart === 'exit') {
      process.stderr.write('unknown option --acp\n')
      process.exit(3)
    }
    if (atStart === 'garbage') process.stdout.write('Welcome!\n')
    write({
      id,
      result: {
        protocolVersion: atStart === 'version' ? 2 : 1,
        agentCapabilities: { loadSession: memory !== undefined },
      },
    })
  },
  async 'session/new'(id, { cwd, mcpServers }) {
    log({ event: 'session', text: cwd, mcpServers })
    await connect(mcpServers)
    write({ id, result: { sessionId } })
  },
  async 'session/load'(id, { sessionId: wanted, mcpServers }) {
    if (wanted !== sessionId || !existsSync(memory))
      return write({ id, error: { code: -32002, message: 'Session not found' } })
    log({ event: 'loaded', text: wanted })
    const [path, cost] = [absolute('repeated'), { amount: 0.5, currency: 'USD' }]
    const toolCall = { toolCallId: 'past', title: 'Write', kind: 'edit', locations: [{ path }], status: 'in_progress' }
    for (const past of [
      { sessionUpdate: 'tool_call', ...toolCall },
      { sessionUpdate: 'usage_update', used: 1, size: 2, cost },
    ])
      write({ method: 'session/update', params: { sessionId, update: past } })
    update('repeated ')
    await connect(mcpServers)
    write({ id, result: null })
  },
  'session/prompt': prompt,
  'session/cancel'() {
    log({ event: 'cancel', text: '' })
    isCancelled = true
    onCancel()
  },
}

log({ event: 'started', text: '', pid: process.pid, argv: process.argv })
const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  wire('relay', { id, method, params, result, error })
  if (method !== undefined) return void handlers[method]?.(id, params)
  const resolve = asked.get(id)
  if (!resolve) return log({ event: 'answered-twice', text: String(id) })
  asked.delete(id)
  resolve({ result, error })
})
lines.on('close', () => {
  log({ event: 'end-of-stdin', text: '' })
  if (isStaying) setInterval(() => {}, 1_000)
  else process.exit(0)
})
