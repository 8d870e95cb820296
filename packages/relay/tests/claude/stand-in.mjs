// A stand-in for a session of Claude Code, as far as its behaviour is known (2.1.326 and 2.1.327): its record and key in the registry, its socket, its
// transcript, its answers to messages that it holds, refuses or drops, and that it takes one at once when idle, else at the end of its turn.
// Its parent controls it, and hears from it what its model was given.
import { spawn } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const { home, socks, cwd, name, inbound = 'accept', fields = {}, isDeaf = false } = JSON.parse(process.argv[2])
const { pid } = process
// It holds what comes from a session whose person is asked about its steps, and asks its own person about it.
const isUnasked = process.argv.includes('--dangerously-skip-permissions')
const stat = readFileSync('/proc/self/stat', 'utf8')
const procStart = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
const pidDomain = `linux:stand-in:${readlinkSync('/proc/self/ns/pid')}`
const socketPath = join(socks, `${pid}.sock`)
const sessions = join(home, 'sessions')
const recordPath = join(sessions, `${pid}.json`)
const keyPath = join(sessions, `${pid}.${createHash('sha256').update(socketPath).digest('hex')}.key`)
const peerToken = randomBytes(16).toString('hex')
const state = { sessionId: fields.sessionId ?? randomUUID(), name, status: 'idle', waitingFor: undefined, inbound }
const queue = []
const held = []
let last

for (const folder of [sessions, socks]) mkdirSync(folder, { recursive: true, mode: 0o700 })
writeFileSync(keyPath, JSON.stringify({ peerToken, procStart, pidDomain }), { mode: 0o600 })

function record() {
  const { sessionId, status, waitingFor } = state
  const all = {
    ...{
      pid,
      sessionId,
      cwd,
      startedAt: Date.now(),
      procStart,
      version: '2.1.327',
      peerProtocol: 1,
      kind: 'interactive',
    },
    ...{
      peerFeatures: ['notify_idle'],
      entrypoint: 'cli',
      pidDomain,
      messagingSocketPath: socketPath,
      name: state.name,
    },
    ...{ nameSource: 'derived', status, waitingFor, ...fields, sessionId },
  }
  writeFileSync(`${recordPath}.new`, JSON.stringify(all), { mode: 0o600 })
  renameSync(`${recordPath}.new`, recordPath)
}

function note(line) {
  const folder = join(home, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'))
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${state.sessionId}.jsonl`), `${JSON.stringify(line)}\n`)
}

function tell(to, content) {
  const target = connect(to.replace('uds:', ''))
  target.on('error', () => process.send({ lost: to }))
  target.end(`${JSON.stringify({ msgV: 1, msg_id: randomUUID(), from: `uds:${socketPath}`, ...content })}\n`)
}

function fate({ from, msg_id: orig_msg_id }, status, more = {}) {
  tell(from, { type: 'control', action: 'peer_message_status', status, orig_msg_id, ...more })
}

function give({ msg_id, from, message }) {
  const [, body] = /^<cross-session-message [^>]*>\n([\s\S]*)\n<\/cross-session-message>$/.exec(message.content) ?? []
  const origin = { kind: 'peer', from, msg_id, body }
  note({
    type: 'user',
    message: { role: 'user', content: `Another Claude session sent a message:\n${message.content}` },
    origin,
  })
  process.send({ given: message.content, body })
}

function next() {
  if (state.status !== 'idle') return
  for (const frame of queue.splice(0)) {
    state.status = 'busy'
    record()
    note({ type: 'queue-operation', operation: 'dequeue' })
    give(frame)
  }
  state.status = 'idle'
  record()
}

function arrive(frame) {
  const { content } = frame.message
  if (state.inbound === 'refuse') return fate(frame, 'expired', { status_detail: 'refused' })
  if (content === last) return fate(frame, 'dropped', { drop_reason: 'duplicate' })
  last = content
  if (state.inbound === 'hold' || isUnasked) {
    held.push(frame)
    note({ type: 'system', subtype: 'informational', content: 'Held peer message' })
    if (isUnasked) commands.does({ status: 'waiting', waitingFor: 'permission prompt' })
    return fate(frame, 'held')
  }
  enqueue(frame)
}

function enqueue(frame) {
  note({ type: 'queue-operation', operation: 'enqueue', content: frame.message.content })
  queue.push(frame)
  next()
}

const commands = {
  does: ({ status, waitingFor }) => {
    Object.assign(state, { status, waitingFor })
    record()
    next()
  },
  clear: () => {
    state.sessionId = randomUUID()
    record()
  },
  rename: ({ to }) => {
    state.name = to
    record()
  },
  say: ({ to, text }) => {
    const content = `<cross-session-message from="uds:${socketPath}" from-name="${state.name}" from-mode="prompting">\n${text}\n</cross-session-message>`
    tell(to, { type: 'user', message: { role: 'user', content }, priority: 'next' })
  },
  release: () => {
    for (const frame of held.splice(0)) {
      fate(frame, 'delivered')
      enqueue(frame)
    }
  },
  expire: () => {
    for (const frame of held.splice(0)) fate(frame, 'expired')
  },
  deny: () => {
    for (const frame of held.splice(0)) fate(frame, 'denied')
    commands.does({ status: 'idle' })
  },
  // As our server in its settings is started.
  mcp: ({ args, env }) => {
    const server = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ask = (line) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`)
    const clientInfo = { name: 'claude-code', version: '2.1.327' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    ask({ id: 1, method: 'initialize', params })
    server.stdout.once('data', () => {
      ask({ method: 'notifications/initialized' })
      ask({ id: 2, method: 'tools/call', params: { name: 'relay_who', arguments: {} } })
      server.stdout.once('data', () => process.send({ tools: true }))
    })
  },
  leave: () => {
    for (const path of [recordPath, keyPath, socketPath]) rmSync(path, { force: true })
    process.exit()
  },
}

createServer((socket) => {
  let text = ''
  let isKnown = false
  socket.on('error', () => {})
  socket.on('data', (data) => {
    text += data
    const lines = text.split('\n')
    text = lines.pop()
    for (const line of lines) {
      const frame = JSON.parse(line)
      if (frame.type === 'auth') isKnown = frame.token === peerToken
      else if (isKnown && !isDeaf) arrive(frame)
    }
  })
}).listen(socketPath, () => {
  record()
  process.send({ ready: true })
})
process.on('message', ({ command, ...input }) => commands[command](input))
process.on('disconnect', () => process.exit())
