// Document 003: the relay of a lift, its launcher and its three tools. kitty needs a screen: a recorder that starts what it is told stands in for it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { SSEClientTransport } from '@modelcontextprotocol/client'
import { root, until, World, write } from './world.mjs'

const usual = 7331
const startScript = join(root, 'tools/relay/start.sh')
let [world, starting, port, lift] = []

/** The document's port, or any other where that is taken. */
function portOption() {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(' --port 0'))
    server.listen(usual, '127.0.0.1', () => server.close(() => resolve('')))
  })
}

async function start({ place }) {
  world = new World(place, 'lift', { TMPDIR: place })
  const running = await world.stays(
    `exec ${startScript}${await portOption()}`,
    /localhost:\d+[\s\S]*dev-b[\s\S]*Ctrl-C/,
  )
  port = Number(/localhost:(\d+)/.exec(running.text)[1])
  lift = running
}
const started = (run) => {
  starting ??= start(run)
  return starting
}

/** As the configuration of the document says, with the port that the lift has. */
async function session(run, name = 'session') {
  await started(run)
  const entry = JSON.parse(`{${run.documents['003'].block('## Claude Code configuration')}}`).mcpServers.relay
  assert.equal(entry.type, 'sse')
  const url = new URL(entry.url.replace(`:${usual}`, `:${port}`))
  return world.host(entry.url, name, { transport: new SSEClientTransport(url) })
}

async function manual(run) {
  await started(run)
  for (const role of ['pm', 'dev-a', 'dev-b']) assert.match(lift.text, new RegExp(role, 'i'))
}

async function configuration(run) {
  await session(run)
  const { code, all } = await world.sh(`${startScript} --configure`)
  assert.equal(code, 0, all)
  const written = JSON.parse(readFileSync(join(world.project, '.mcp.json'), 'utf8'))
  assert.deepEqual(written, JSON.parse(`{${run.documents['003'].block('## Claude Code configuration')}}`))
  return 'in .mcp.json, which --configure writes word for word: Claude Code reads no servers from .claude/settings.json'
}

async function portTaken(run) {
  await started(run)
  const words = run.documents['003'].find(/print `(relay already running\?[^`]*)`/)
  const { code, all } = await world.sh(`${startScript} --port ${port}`)
  assert.equal(code, 1, all)
  assert.ok(all.includes(words.replace(String(usual), String(port))), all)
}

const parsed = async (host, tool, input) => {
  const { text, isError } = await host.call(tool, input)
  assert.ok(!isError, text)
  return JSON.parse(text)
}

/** The parameters that the document's signature names, with the values that it allows. */
async function isLike(run, host, tool) {
  const signature = run.documents['003'].find(new RegExp(`^${tool}\\((.*)\\) →`, 'm'))
  const { inputSchema } = (await host.tools()).find(({ name }) => name === tool)
  for (const [, name, values] of signature.matchAll(/(\w+): ([^,]+)/g)) {
    assert.ok(name in inputSchema.properties, `${tool} has no ${name}`)
    for (const [, value] of values.matchAll(/"([\w-]+)"/g))
      assert.ok(JSON.stringify(inputSchema.properties[name]).includes(value), `${name} takes no ${value}`)
  }
}

const post = (host, from, to, body, kind = 'status') => parsed(host, 'post_message', { from, to, kind, body })
const read = (host, role) => parsed(host, 'read_messages', { for: role })

async function postTool(run) {
  const host = await session(run)
  await isLike(run, host, 'post_message')
  assert.equal(typeof (await post(host, 'dev-b', 'pm', 'Task P4 DONE')).id, 'string')
  await until('the line of the terminal', () =>
    /\[\d\d:\d\d:\d\d\] dev-b → pm \[status\] "Task P4 DONE"/.test(lift.text),
  )
  for (const wrong of [{ to: 'nobody' }, { from: 'nobody' }]) {
    const input = { from: 'dev-a', to: 'pm', kind: 'free', body: 'x', ...wrong }
    assert.equal((await host.call('post_message', input)).isError, true)
  }
  assert.equal((await read(host, 'pm')).length, 1)
}

async function readTool(run) {
  const host = await session(run)
  await isLike(run, host, 'read_messages')
  await post(host, 'pm', 'dev-a', 'PROCEED', 'directive')
  const [message] = await read(host, 'dev-a')
  const shape = run.documents['003'].block('Message shape:')
  for (const [, name] of shape.matchAll(/^(\w+): /gm)) assert.ok(name in message, `no ${name}`)
  assert.deepEqual([message.from, message.to, message.kind, message.body], ['pm', 'dev-a', 'directive', 'PROCEED'])
}

async function listTool(run) {
  const host = await session(run)
  await isLike(run, host, 'list_pending')
  await post(host, 'pm', 'dev-b', 'one', 'directive')
  const pending = { count: 1, kinds: ['directive'] }
  for (let time = 1; time <= 2; time++) assert.deepEqual(await parsed(host, 'list_pending', { for: 'dev-b' }), pending)
  assert.equal((await read(host, 'dev-b')).length, 1)
}

/** The list of tests of the document's queue. */
async function queue(run) {
  const host = await session(run)
  await post(host, 'dev-a', 'pm', 'one')
  await post(host, 'dev-b', 'pm', 'two', 'question')
  await post(host, 'dev-a', 'pm', 'three')
  assert.deepEqual(
    (await read(host, 'pm')).map(({ body }) => body),
    ['one', 'two', 'three'],
  )
  assert.deepEqual(await read(host, 'pm'), [])
}

async function prompt(run) {
  await started(run)
  const paragraph = run.documents['003'].find(/^> (\*\*Relay server:\*\*.*)$/m)
  const { all } = await world.sh('agent-relay lift prompt pm')
  for (const [, tool] of paragraph.matchAll(/`(\w+)\(/g)) assert.ok(all.includes(`${tool}(`), tool)
  return 'agent-relay lift prompt ROLE, in other words: the paragraph leaves out from'
}

async function tmux(run) {
  if (spawnSync('tmux', ['-V']).status !== 0) return 'refused: tmux is not installed here'
  const own = new World(run.place, 'tmux', { TMUX_TMPDIR: run.place, TMPDIR: run.place })
  own.standIns('claude')
  try {
    const { code, all } = await own.sh(`${startScript} --tmux --port 0`)
    assert.equal(code, 0, all)
    const panes = async () => (await own.sh("tmux list-panes -a -F '#{@relay_role}'")).out.trim().split('\n')
    await until('four panes', async () => (await panes()).length === 4)
    for (const role of ['pm', 'dev-a', 'dev-b']) assert.ok((await panes()).includes(role), `${await panes()}`)
  } finally {
    await own.sh('tmux send-keys -t "$(tmux list-panes -a -F "#{pane_id}" | head -1)" C-c')
    await until('the end', async () => (await own.sh('tmux list-panes -a')).code !== 0).catch(() =>
      own.sh('tmux kill-server'),
    )
    await own.close()
  }
}

const recorder = `#!${process.execPath}
const { appendFileSync } = require('node:fs')
const args = process.argv.slice(2)
let pid
if (args[1] === 'launch') {
  const [program, ...rest] = args.slice(args.indexOf('--') + 1)
  const child = require('node:child_process').spawn(program, rest, { detached: true, stdio: 'ignore' })
  child.unref()
  pid = child.pid
  console.log(String(pid))
}
appendFileSync(process.env.HOME + '/kitty.jsonl', JSON.stringify({ args, pid }) + '\\n')
`

async function kitty(run) {
  const own = new World(run.place, 'kitty', { TMPDIR: run.place })
  own.standIns('claude')
  write(join(own.bin, 'kitty'), recorder, 0o755)
  const launched = () => {
    const lines = readFileSync(join(own.home, 'kitty.jsonl'), 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line)).filter(({ pid }) => pid !== undefined)
  }
  try {
    const { code, all } = await own.sh(`${startScript} --kitty --port 0`)
    assert.equal(code, 0, all)
    assert.equal(launched().length, 4)
    return 'by a stand-in; --type=tab and --type=window: kitty has no --new-tab'
  } finally {
    for (const { pid } of launched()) {
      if (isAlive(pid)) process.kill(pid, 'SIGINT')
      await until('its end', () => !isAlive(pid)).catch(() => process.kill(pid, 'SIGKILL'))
    }
    await own.close()
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export const examples = [
  { example: 'start.sh', run: manual },
  { example: 'start.sh --tmux', run: tmux },
  { example: 'start.sh --kitty', expected: 'with a change', run: kitty },
  { example: 'the words where the port is taken', run: portTaken },
  { example: 'the configuration', expected: 'with a change', run: configuration },
  { example: 'post_message', run: postTool },
  { example: 'read_messages', run: readTool },
  { example: 'list_pending', run: listTool },
  { example: 'the tests of the queue', run: queue },
  { example: 'the paragraph of the kickoff prompts', expected: 'with a change', run: prompt },
].map((example) => ({ document: '003', ...example }))

export const close = () => world?.close()
