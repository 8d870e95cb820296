// Tests of every file that the first document shows, by its own names: run over the document's files, and over this checkout's package, which
// must answer alike. scripts/test-seeds.mjs puts it into both. Each test is named after the file. No text of the document is here.

import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { RelayClient as Today } from '@agent-relay/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RelayClient } from '../src/client.ts'
import { discoverSocket } from '../src/discover.ts'
import * as errors from '../src/errors.ts'
import { runInstall } from '../src/install-cli.ts'
import * as prompts from '../src/prompts/index.ts'
import * as resources from '../src/resources/index.ts'
import * as tools from '../src/tools/index.ts'

let [client, peer] = []
beforeAll(async () => {
  peer = new Today({ agentName: 'Bob', autoConnect: false })
  await peer.connect()
  peer.on('message', ({ from, content, thread }) => {
    if (content.startsWith('ask')) void peer.send(from, 'Done!', { thread })
  })
  client = new RelayClient({ agentName: 'Names', autoConnect: false })
  await client.connect()
})
afterAll(async () => {
  await client?.release('Worker1')
  await client?.disconnect()
  await peer?.disconnect()
})

const parameters = (tool) => Object.keys(tool.inputSchema.properties)

test('src/tools/relay-send.ts', async () => {
  expect(parameters(tools.relaySendTool)).toEqual(
    expect.arrayContaining(['to', 'message', 'thread', 'await_response', 'timeout_ms']),
  )
  const say = (input) => tools.handleRelaySend(client, tools.relaySendSchema.parse(input))
  expect(await say({ to: 'Bob', message: 'hello' })).toBe('Message sent to Bob')
  expect(await say({ to: 'Bob', message: 'ask', await_response: true })).toBe('Response from Bob: Done!')
})

test('src/tools/relay-spawn.ts', async () => {
  expect(parameters(tools.relaySpawnTool)).toEqual(expect.arrayContaining(['name', 'cli', 'task', 'model', 'cwd']))
  const spawn = (input) => tools.handleRelaySpawn(client, tools.relaySpawnSchema.parse(input))
  const order = { name: 'Worker1', cli: 'claude', task: 'wait' }
  expect(await spawn(order)).toMatch(/^Worker "Worker1" spawned successfully\./)
  expect(await spawn({ ...order, cwd: '/no-such-folder' })).toMatch(/^Failed to spawn worker: \w/)
  expect(() => tools.relaySpawnSchema.parse({ ...order, cli: 'no-such-cli' })).toThrow()
})

test('src/tools/relay-release.ts', async () => {
  expect(parameters(tools.relayReleaseTool)).toEqual(['name', 'reason'])
  const release = (name) => tools.handleRelayRelease(client, tools.relayReleaseSchema.parse({ name }))
  await client.spawn({ name: 'Worker2', cli: 'claude', task: 'wait' })
  expect(await release('Worker2')).toMatch(/^Worker "Worker2" released\./)
  expect(await release('no-such-worker')).toMatch(/^Failed to release worker: \w/)
})

test('src/tools/relay-inbox.ts', async () => {
  expect(parameters(tools.relayInboxTool)).toEqual(expect.arrayContaining(['limit', 'unread_only', 'from', 'channel']))
  const inbox = (input = {}) => tools.handleRelayInbox(client, tools.relayInboxSchema.parse(input))
  await inbox({ limit: 100 })
  await peer.send('Names', 'news', { thread: 't1' })
  expect(await inbox({ from: 'Bob' })).toMatch(/^1 message\(s\):\n\n\[m_\w+\] From Bob \(thread: t1\):\nnews/)
  expect(await inbox()).toBe('No messages in inbox.')
})

test('src/tools/relay-who.ts', async () => {
  expect(parameters(tools.relayWhoTool)).toEqual(['include_idle', 'project'])
  const who = await tools.handleRelayWho(client, tools.relayWhoSchema.parse({}))
  expect(who).toMatch(/^\d+ agent\(s\) online:\n(- .+\n?)+/)
  expect(who).toMatch(/^- Bob \(\S+\) - (active|idle)/m)
})

test('src/tools/relay-status.ts', async () => {
  // Ours has parameters, and all of them may be left out.
  expect(tools.relayStatusSchema.parse({})).toEqual({})
  const status = await tools.handleRelayStatus(client, tools.relayStatusSchema.parse({}))
  expect(status).toMatch(
    /^Relay Status:\n- Connected: Yes\n- Agent Name: Names\n- Project: seeds\n- Socket: \/.+\n- Daemon Version: \d\S+\n- Uptime: /,
  )
})

test('src/prompts/protocol.ts', () => {
  expect(prompts.protocolPrompt.name).toBe('relay_protocol')
  expect(prompts.getProtocolPrompt()).toBe(prompts.PROTOCOL_DOCUMENTATION)
})

for (const [name, resource, get, isRight] of [
  [
    'agents',
    resources.agentsResource,
    resources.getAgentsResource,
    (value) => value.some(({ name }) => name === 'Bob'),
  ],
  ['inbox', resources.inboxResource, resources.getInboxResource, Array.isArray],
  ['project', resources.projectResource, resources.getProjectResource, ({ project }) => project === 'seeds'],
])
  test(`src/resources/${name}.ts`, async () => {
    expect(resource).toMatchObject({ uri: `relay://${name}`, mimeType: 'application/json' })
    expect(JSON.parse(await get(client))).toSatisfy(isRight)
  })

test('src/discover.ts', () => {
  expect(discoverSocket()).toMatchObject({
    project: 'seeds',
    source: 'env',
    socketPath: expect.stringMatching(/sock$/),
  })
})

test('src/client.ts', async () => {
  const other = new RelayClient({ agentName: 'Other', autoConnect: false })
  await other.connect()
  await other.send('Bob', 'hello', { thread: 't2' })
  expect(await other.sendAndWait('Bob', 'ask')).toMatchObject({ from: 'Bob', content: 'Done!' })
  expect(await other.getStatus()).toMatchObject({ connected: true, agentName: 'Other' })
  await other.disconnect()
})

test('src/errors.ts', () => {
  const { RelayError, DaemonNotRunningError, AgentNotFoundError, TimeoutError, ConnectionError } = errors
  for (const [error, name, text] of [
    [new DaemonNotRunningError(), 'DaemonNotRunningError', /^Relay daemon is not running\. .*agent-relay daemon start/],
    [new AgentNotFoundError('Zed'), 'AgentNotFoundError', /^Agent not found: Zed/],
    [new TimeoutError('asking', 5), 'TimeoutError', /^Timeout after 5ms: asking/],
    [new ConnectionError('why'), 'ConnectionError', /^Connection error: why/],
  ]) {
    expect(error).toBeInstanceOf(RelayError)
    expect(error).toMatchObject({ name, message: expect.stringMatching(text) })
  }
})

test('src/install-cli.ts', async () => {
  mkdirSync(join(homedir(), '.cursor'), { recursive: true })
  await runInstall({ editor: 'cursor' })
  const { mcpServers } = JSON.parse(readFileSync(join(homedir(), '.cursor/mcp.json'), 'utf8'))
  expect(mcpServers['agent-relay'].args).toContain('serve')
})
