// An agent without a model: a prompt in a terminal that honours marked pastes, an MCP client of the official SDK, and a log of every text that
// was submitted to it. It obeys what it finds in such a text: `call TOOL {json}`, `busy MS`, `dialog`, `exit CODE`, `env`.
//
// Escape ends `busy` and closes a dialog.
//
//   node scripted-agent.mjs --log FILE [--mcp-config FILE] [--slow-start MS] [--ignore-signals] [--ignore-escape] [--lose-enters N]

import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const option = (name) => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}
const log = (entry) => appendFileSync(option('--log'), `${JSON.stringify({ at: Date.now(), ...entry })}\n`)
const print = (text) => process.stdout.write(text)
const title = (state) => print(`\x1b]0;scripted: ${state}\x07`)

let [input, isPasting, isBusy, isDialog, isStopped, interrupts, pending] = ['', false, false, false, false, 0, '']
let loneEscape
let losesEnters = Number(option('--lose-enters') ?? 0)
let calls

if (process.argv.includes('--ignore-signals'))
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})

function prompt() {
  title(isDialog ? 'dialog' : isBusy ? 'busy' : 'idle')
  if (isDialog) print('\r\nMay I? Press y.')
  else if (!isBusy) print('\r\n> ')
}

function key(char) {
  if (isDialog) {
    log({ event: 'dialog-key', char })
    if (char === 'y' || char === '\x1b') isDialog = false
    if (!isDialog) void next()
    return
  }
  if (char === '\r' && losesEnters > 0) {
    // As a CLI that takes an Enter right after a paste for a newline.
    losesEnters--
    log({ event: 'lost-enter' })
  } else if (char === '\r') submitted()
  else if (char === '\x03') {
    if (++interrupts > 1) process.exit(0)
  } else if (char === '\x1b') {
    log({ event: 'escape', isBusy })
    isStopped = !process.argv.includes('--ignore-escape')
  } else if (char >= ' ' || char === '\n' || char === '\t') type(char)
  else log({ event: 'key', char })
}

function type(text) {
  input += text
  print('.')
}

const queue = []
function submitted() {
  const text = input
  input = ''
  interrupts = 0
  // As the CLIs do: an Enter that comes again, because the first was taken late, does nothing.
  if (text === '') return log({ event: 'empty-enter' })
  log({ event: isBusy ? 'submitted-while-busy' : 'submitted', text })
  queue.push(text)
  if (!isBusy) void next()
}

async function next() {
  if (isBusy || isDialog) return prompt()
  isBusy = true
  isStopped = false
  prompt()
  for (let text = queue.shift(); text !== undefined; text = queue.shift()) await obey(text)
  isBusy = false
  prompt()
}

async function obey(text) {
  for (const [, ms] of text.matchAll(/\bbusy (\d+)/g))
    for (const end = Date.now() + Number(ms); Date.now() < end && !isStopped; await sleep(5))
      print(`working ${Math.random()}\r\n`)
  for (const [, tool, json] of text.matchAll(/\bcall (\w+) (\{.*\})/g)) {
    const answer = await calls?.callTool({ name: tool, arguments: JSON.parse(json) })
    log({ event: 'answered', tool, text: answer?.content[0].text, isError: answer?.isError })
  }
  if (/\benv\b/.test(text)) log({ event: 'env', env: process.env, argv: process.argv })
  if (/\bdialog\b/.test(text)) isDialog = true
  const code = /\bexit (\d+)/.exec(text)?.[1]
  if (code !== undefined) process.exit(Number(code))
}

const [pasteBegin, pasteEnd] = ['\x1b[200~', '\x1b[201~']
/** A mark may be cut in two by a read; a key is one character. */
function feed(data) {
  clearTimeout(loneEscape)
  pending += data
  while (pending !== '') {
    const mark = isPasting ? pasteEnd : pasteBegin
    if (pending.startsWith(mark)) {
      pending = pending.slice(mark.length)
      isPasting = !isPasting
    } else if (pending.length < mark.length && mark.startsWith(pending)) {
      // As terminals do: Escape with nothing behind it is the key.
      if (pending === '\x1b') loneEscape = setTimeout(pressEscape, 50)
      return
    } else if (isPasting) {
      const at = pending.indexOf('\x1b')
      const text = at < 0 ? pending : pending.slice(0, at || 1)
      pending = pending.slice(text.length)
      type(text)
    } else {
      key(pending[0])
      pending = pending.slice(1)
    }
  }
}

function pressEscape() {
  pending = ''
  key('\x1b')
}

async function connect() {
  const path = option('--mcp-config')
  if (path === undefined) return
  const { Client } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const [server] = Object.values(JSON.parse(readFileSync(path, 'utf8')).mcpServers)
  if (server === undefined) return
  calls = new Client({ name: 'scripted', version: '1' })
  await calls.connect(new StdioClientTransport({ ...server, env: { ...process.env, ...server.env }, stderr: 'ignore' }))
}

await sleep(Number(option('--slow-start') ?? 0))
process.stdin.setRawMode(true)
process.stdin.setEncoding('utf8')
process.stdin.on('data', feed)
print('\x1b[?2004hscripted agent\r\n')
log({ event: 'started', pid: process.pid })
await connect()
prompt()
