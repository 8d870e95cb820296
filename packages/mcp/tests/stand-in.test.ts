// The launcher's server without a daemon, or without any of our programs: the host sees no failure, learns what helps, has one tool that says the
// same, and gets all tools as soon as a daemon is there.

import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { refreshLauncher } from '../src/launcher/index.ts'
import { call, daemonLauncher, type Json, PipeWorld } from './pipe-world.ts'

let world: PipeWorld
const hosts: Host[] = []
const servers: Server[] = []
beforeEach(() => {
  world = new PipeWorld()
})
afterEach(async () => {
  for (const { client } of hosts.splice(0)) await client.close()
  for (const server of servers.splice(0)) server.close()
  await world.close()
})

interface Host {
  client: Client
  stderr: string
  changes: number
  names(): Promise<string[]>
}

async function connect(cwd = world.root, project = world.project, more: Record<string, string> = {}): Promise<Host> {
  const client = new Client({ name: 'host', version: '1' })
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  const host: Host = { client, stderr: '', changes: 0, names }
  hosts.push(host)
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    host.changes++
  })
  const command = join(world.root, 'bin/agent-relay-mcp')
  const place = { env: world.env({ RELAY_PROJECT: project, ...more }), cwd, stderr: 'pipe' as const }
  const transport = new StdioClientTransport({ command, args: ['serve'], ...place })
  transport.stderr?.on('data', (chunk) => {
    host.stderr += chunk
  })
  await client.connect(transport)
  return host
}

/** What the daemon leaves for the launcher's shell: its process id. */
function announce(pid: number): void {
  mkdirSync(join(world.root, 'hooks'), { recursive: true })
  writeFileSync(join(world.root, 'hooks/daemon'), `${pid}\n`)
}

const notRunning = 'Relay daemon is not running. Start with: agent-relay daemon start'
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** The shell and the pipe say the same. */
async function offered({ client }: Host) {
  const { prompts } = await client.listPrompts()
  const { tools } = await client.listTools()
  const { messages } = await client.getPrompt({ name: 'relay_protocol' })
  const server = { capabilities: client.getServerCapabilities(), info: client.getServerVersion() }
  return { prompts, tools, messages, instructions: client.getInstructions(), ...server }
}

test('no daemon, whatever the hint says: the host is told what to start, and has all tools when one comes', async () => {
  refreshLauncher(world.env())
  await connect()
  announce(spawnSync('true').pid)
  await connect()
  // Here the shell starts Node at once.
  announce(process.pid)
  await connect()
  const listed = []
  for (const host of hosts) {
    expect(await host.names()).toEqual(['relay_status'])
    const said = await offered(host)
    listed.push(said.tools[0])
    expect(said).toEqual(await offered(hosts[0] as Host))
    expect(said.info).toEqual({ name: 'agent-relay', title: 'Agent Relay', version })
    expect(said.instructions).toMatch(new RegExp(`^${notRunning}\\n\\nAgent Relay connects you`))
    expect(said.instructions?.length).toBeLessThan(2_000)
    const status = await call(host.client, 'relay_status')
    expect(status).toMatch(/^Relay Status:\n- Connected: No\n/)
    expect(status.endsWith(`- Uptime: N/A\n\n${notRunning}`)).toBe(true)
    const called = await host.client.callTool({ name: 'relay_who', arguments: {} })
    const text = expect.stringContaining(notRunning)
    expect(called).toMatchObject({ isError: true, content: [{ text }] })
    await until(() => host.stderr.startsWith('ERROR: Relay daemon is not running.'))
  }
  await world.startDaemon()
  for (const host of hosts) {
    await until(() => host.changes > 0)
    const { tools } = await host.client.listTools()
    expect(tools.map(({ name }) => name)).toContain('relay_send')
    // A host that was allowed the one tool is asked about no other one; what it takes beside that is for a daemon.
    const { inputSchema: _, ...same } = listed.pop() as (typeof tools)[number]
    expect(tools.find(({ name }) => name === 'relay_status')).toMatchObject(same)
    const status = await host.client.callTool({ name: 'relay_status', arguments: {} })
    expect(status.content).toEqual([{ type: 'text', text: expect.stringContaining('Connected: Yes') }])
  }
})

test('a host that never asks for the list again: it may call every tool, and is told why it sees none', async () => {
  refreshLauncher(world.env())
  const { client, names } = await connect()
  expect(await names()).toEqual(['relay_status'])
  await world.startDaemon()
  const status = () => client.callTool({ name: 'relay_status', arguments: {} })
  await until(async () => JSON.stringify(await status()).includes('Connected: Yes'))
  expect((await status()).content).toEqual([
    { type: 'text', text: expect.stringContaining('Connected: Yes') },
    { type: 'text', text: expect.stringMatching(/^\nThe relay came after this session began\./) },
  ])
  const bob = await world.client('bob', { RELAY_AGENT_NAME: 'Bob' })
  await call(bob, 'relay_status')
  expect(await call(client, 'relay_send', { to: 'Bob', message: 'one' })).toMatch(/^Message sent to Bob/)
  expect(await call(client, 'relay_send', { to: 'Bob', message: 'two' })).toMatch(/^Message sent to Bob/)
  expect(await call(bob, 'relay_inbox')).toMatch(/^2 message\(s\):.*one.*two$/s)
  expect(await call(bob, 'relay_inbox')).toBe('No messages in inbox.')
  expect(await names()).toContain('relay_send')
  expect((await status()).content).toHaveLength(1)
})

test('a tool that is called before the list is asked for is answered by the pipe', () => {
  refreshLauncher(world.env())
  const asked = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'relay_status', arguments: {} } }
  const { answers } = said([(usual[0] as [string, number])[0], JSON.stringify(asked)])
  expect(answers).toMatchObject([
    { id: 0 },
    { id: 3, result: { content: [{ text: expect.stringContaining('No\n') }] } },
  ])
  expect(answers[1]?.result.content[0].text).toContain(notRunning)
})

test.each([
  ['RELAY_SOCKET', 'daemon.sock', (path: string) => `Relay daemon is not running at ${path}, which RELAY_SOCKET names`],
  ['RELAY_BASE_URL', 'http://127.0.0.1:9', (url: string) => `No relay answers at ${url}. Start it again where it ran:`],
])('%s leads to nobody: it is named wherever the host looks', async (name, place, textOf) => {
  refreshLauncher(world.env())
  const value = name === 'RELAY_SOCKET' ? join(world.root, place) : place
  const { client, names } = await connect(world.root, '', { [name]: value })
  expect(await names()).toEqual(['relay_status'])
  const text = textOf(value)
  expect(client.getInstructions()?.startsWith(text)).toBe(true)
  for (const tool of ['relay_status', 'relay_who']) expect(await call(client, tool)).toContain(text)
})

test('a daemon without a hint: the tools come at once', async () => {
  await world.startDaemon()
  refreshLauncher(world.env())
  announce(spawnSync('true').pid)
  const { names } = await connect()
  await until(async () => (await names()).includes('relay_send'))
})

test('we are gone: the host is told what helps, and the logs', async () => {
  refreshLauncher(world.env(), { node: process.execPath, script: join(world.root, 'gone.cjs') })
  const { names, client } = await connect()
  const text =
    'Agent Relay is not there any more: it was moved or removed. To connect this program again:\n  from a checkout:'
  expect(client.getInstructions()?.startsWith(text)).toBe(true)
  expect(client.getServerVersion()).toMatchObject({ name: 'agent-relay', version: 'unknown' })
  expect(await names()).toEqual(['relay_status'])
  const called = await client.callTool({ name: 'relay_status', arguments: {} })
  expect(called).toMatchObject({ isError: true, content: [{ text: client.getInstructions() }] })
  await client.ping()
  await until(() => hosts[0]?.stderr.includes('is missing'))
})

/** A directory, and the file that `daemon start` would write there. */
function directory(name: string, project?: string): string {
  const path = join(world.root, name)
  mkdirSync(join(path, '.relay'), { recursive: true })
  if (project !== undefined) writeFileSync(join(path, '.relay/config.json'), JSON.stringify({ project }))
  return path
}

test('the workspace that served it stays its own, whatever its directory is told later', async () => {
  refreshLauncher(world.env())
  await world.startDaemon()
  const cwd = directory('later')
  announce(spawnSync('true').pid)
  const { client, names } = await connect(cwd, '')
  await until(async () => (await names()).includes('relay_send'))
  expect(await call(client, 'relay_status')).toContain('Project: home')
  const env = world.env({ RELAY_PROJECT: '' })
  await promisify(execFile)(process.execPath, [daemonLauncher, 'daemon', 'start'], { cwd, env })
  await world.restartDaemon('SIGTERM')
  await until(async () => (await call(client, 'relay_status')).includes('Connected: Yes'))
  expect(await call(client, 'relay_status')).toContain('Project: home')
})

/** A socket that takes connections and says nothing. */
async function silent(project: string, heard: (text: string) => void): Promise<void> {
  const path = join(world.root, 'projects', project, 'daemon.sock')
  mkdirSync(dirname(path), { recursive: true })
  const server = createServer((socket) => {
    heard('')
    socket.on('error', () => {}).on('data', (chunk) => heard(String(chunk)))
  })
  servers.push(server)
  await once(server.listen(path), 'listening')
}

test('a daemon that has just come: the directory may be told its workspace a moment after `home` answers', async () => {
  refreshLauncher(world.env())
  const cwd = directory('fresh')
  const heard = { home: '', fresh: '' }
  await silent('home', (text) => {
    heard.home += text
    directory('fresh', 'fresh')
  })
  await silent('fresh', (text) => {
    heard.fresh += text
  })
  // It stays as young as it is, however long Node takes to start.
  const home = join(world.root, 'projects/home/daemon.sock')
  const young = setInterval(() => utimesSync(home, new Date(), new Date()), 20)
  onTestFinished(() => clearInterval(young))
  const { names } = await connect(cwd, '')
  expect(await names()).toEqual(['relay_status'])
  await until(() => heard.fresh.includes('HELLO'))
  expect(heard.home).toBe('')
})

test('a daemon that does not have the workspace: a call says which, not that there is no daemon', async () => {
  refreshLauncher(world.env())
  await world.startDaemon()
  announce(spawnSync('true').pid)
  const { client, names } = await connect(directory('haunted', 'ghost'), '')
  expect(await names()).toEqual(['relay_status'])
  const text = 'No workspace "ghost" is open here. To list all: agent-relay workspace list'
  await until(async () => (await call(client, 'relay_status')).endsWith(`\n\n${text}`))
  await until(async () => (await call(client, 'relay_who')).includes(text))
  expect(JSON.parse(await call(client, 'post_to_nobody')).error).toMatchObject({ code: 'workspace.unknown' })
})

const params = { protocolVersion: '2025-11-25', capabilities: { experimental: { x: { y: 1, id: 99 } } } }
const spaced = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'initialize', params }, null, 1).replaceAll('\n', '')
/** What a shell can take for something else. */
const odd: [string, number | string][] = [
  [spaced, 5],
  [JSON.stringify({ jsonrpc: '2.0', params: { ...params, id: 98, method: 'ping' }, method: 'initialize', id: 6 }), 6],
  [JSON.stringify({ params: { id: 1, ...params }, id: 7, method: 'initialize', jsonrpc: '2.0' }), 7],
  [JSON.stringify({ jsonrpc: '2.0', id: 'a,"b', method: 'initialize', params }), 'a,"b'],
  [JSON.stringify({ jsonrpc: '2.0', id: -8, method: 'initialize', params: { _meta: {}, ...params } }), -8],
  [JSON.stringify({ method: 'initialize', params: { _meta: {}, ...params }, id: 9, more: { id: 97 } }), 9],
]
/** What it answers itself. */
const usual: [string, number | string][] = [
  [JSON.stringify({ method: 'initialize', params, jsonrpc: '2.0', id: 0 }), 0],
  [JSON.stringify({ jsonrpc: '2.0', id: 'a-1', method: 'initialize', params }), 'a-1'],
  [JSON.stringify({ jsonrpc: '2.0', method: 'initialize', params, id: 2 }), 2],
]

function said(lines: string[]): { status: number | null; answers: Json[] } {
  const [command, place] = [join(world.root, 'bin/agent-relay-mcp'), { env: world.env(), cwd: world.root }]
  const { status, stdout } = spawnSync(command, ['serve'], {
    ...place,
    input: `${lines.join('\n')}\n`,
    encoding: 'utf8',
  })
  const answers = stdout.trim().split('\n').filter(Boolean)
  return { status, answers: answers.map((line) => JSON.parse(line)) }
}

test('each request is answered by its own id, however it is written', () => {
  refreshLauncher(world.env())
  const list = '{ "jsonrpc": "2.0", "id": 11, "method": "tools/list" }'
  for (const [line, id] of [...odd, ...usual]) {
    const { answers } = said([line, '{"jsonrpc":"2.0","method":"notifications/initialized"}', list])
    const begun = { id, result: { protocolVersion: '2025-11-25' } }
    expect(answers, line).toMatchObject([begun, { id: 11, result: { tools: [{ name: 'relay_status' }] } }])
  }
})

test('we are gone, and a request is written oddly: no answer to another one, and the host sees that we ended', () => {
  refreshLauncher(world.env(), { node: process.execPath, script: join(world.root, 'gone.cjs') })
  for (const [line] of odd) expect(said([line]), line).toEqual({ status: 78, answers: [] })
  for (const [line, id] of usual) expect(said([line]).answers, line).toMatchObject([{ id, result: {} }])
})
