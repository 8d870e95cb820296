// The public names of this package, the cost of importing them, and a client without a name.

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Daemon } from '../../relay/src/daemon/daemon.ts'
import * as mcp from '../src/index.ts'
import * as install from '../src/install/index.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))

describe('names', () => {
  test('the server, the installer, the prompt, the resources, discovery, the client and the errors', () => {
    expect(mcp).toMatchObject({
      createServer: expect.any(Function),
      runInstall: expect.any(Function),
      protocolPrompt: { name: 'relay_protocol', arguments: [] },
      PROTOCOL_DOCUMENTATION: mcp.getProtocolPrompt(),
      agentsResource: { uri: 'relay://agents', mimeType: 'application/json' },
      inboxResource: { uri: 'relay://inbox', mimeType: 'application/json' },
      projectResource: { uri: 'relay://project', mimeType: 'application/json' },
      discoverSocket: expect.any(Function),
      RelayClient: expect.any(Function),
    })
    expect(install.runInstall).toEqual(expect.any(Function))
    for (const error of [mcp.DaemonNotRunningError, mcp.AgentNotFoundError, mcp.TimeoutError, mcp.ConnectionError])
      expect(error.prototype).toBeInstanceOf(mcp.RelayError)
  })

  test.each([
    ['relay_send', mcp.relaySendTool, mcp.relaySendSchema, mcp.handleRelaySend],
    ['relay_inbox', mcp.relayInboxTool, mcp.relayInboxSchema, mcp.handleRelayInbox],
    ['relay_who', mcp.relayWhoTool, mcp.relayWhoSchema, mcp.handleRelayWho],
    ['relay_status', mcp.relayStatusTool, mcp.relayStatusSchema, mcp.handleRelayStatus],
    ['relay_spawn', mcp.relaySpawnTool, mcp.relaySpawnSchema, mcp.handleRelaySpawn],
    ['relay_release', mcp.relayReleaseTool, mcp.relayReleaseSchema, mcp.handleRelayRelease],
  ])('%s as it can be listed, with the properties of its schema', (name, tool, schema, handle) => {
    expect(tool).toMatchObject({ name, inputSchema: { type: 'object' } })
    expect(JSON.parse(JSON.stringify(tool))).toEqual(tool)
    expect(Object.keys(tool.inputSchema.properties ?? {})).toEqual(Object.keys(schema.shape))
    expect(handle).toEqual(expect.any(Function))
  })

  test('main and types are what the first export names, and package.json can be read', () => {
    const { exports, main, types } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    expect([main, types]).toEqual([exports['.'].default, exports['.'].types])
    expect(exports['./package.json']).toBe('./package.json')
  })
})

test('importing it starts nothing, says nothing, and loads no reader of configuration files', async () => {
  const program = `const { createRequire } = await import('node:module')
    const mcp = await import('@agent-relay/mcp')
    const readers = Object.keys(createRequire('/').cache).filter((path) => /jsonc-parser|smol-toml/.test(path))
    console.log(JSON.stringify({ isHere: typeof mcp.runInstall, readers, handles: process.getActiveResourcesInfo() }))`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
  })
  expect(stderr).toBe('')
  const { isHere, readers, handles } = JSON.parse(stdout)
  expect([isHere, readers]).toEqual(['function', []])
  expect(handles.filter((name: string) => /Timeout|Socket|Server|Process/.test(name))).toEqual([])
})

test('the handlers need only those methods of a client that they call', async () => {
  const calls: unknown[] = []
  const client = {
    listAgents: async () => [{ name: 'Ann', cli: 'claude', idle: true }],
    getInbox: async () => [{ id: 'm_1', from: 'Ann', content: 'hello' }],
    getStatus: async () => ({ connected: true, agentName: 'me', project: 'p', socketPath: '/s' }),
    release: async (...args: unknown[]) => {
      calls.push(args)
      return { success: false, error: 'no such worker' }
    },
  } as unknown as mcp.ToolClient
  expect(await mcp.handleRelayWho(client, {})).toBe('1 agent(s) online:\n- Ann (claude) - idle')
  expect(await mcp.handleRelayInbox(client, {})).toContain('[m_1] From Ann:')
  expect(await mcp.handleRelayStatus(client, {})).toContain('- Project: p')
  expect(await mcp.handleRelayRelease(client, { name: 'W' })).toBe('Failed to release worker: no such worker')
  expect(calls).toEqual([['W', undefined]])
  expect(JSON.parse(await mcp.getAgentsResource(client))).toEqual([{ name: 'Ann', cli: 'claude', idle: true }])
  expect(JSON.parse(await mcp.getInboxResource(client))).toMatchObject([{ id: 'm_1', content: 'hello' }])
  expect(JSON.parse(await mcp.getProjectResource(client))).toEqual({ project: 'p', socketPath: '/s' })
})

describe('a client that nobody named', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'relay-exports-'))
  let daemon: Daemon
  beforeAll(async () => {
    for (const name of ['RELAY_SOCKET', 'RELAY_PROJECT']) vi.stubEnv(name, undefined)
    vi.stubEnv('RELAY_DATA_DIR', dataDir)
    vi.spyOn(process, 'cwd').mockReturnValue(dataDir)
    const options = { dataDir, credentialsPath: join(dataDir, 'c.json'), isMemory: true, onTrouble() {}, onStop() {} }
    daemon = (await Daemon.start(options)) as Daemon
    await daemon.open('home')
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  test('is mcp-PID and can send; a second one of the same process has a number, and nobody is warned', async () => {
    const warned = vi.spyOn(process, 'emitWarning')
    const first = new mcp.RelayClient()
    await first.connect()
    const second = new mcp.RelayClient({ agentName: '' })
    expect(mcp.discoverSocket()).toMatchObject({ project: 'home' })
    try {
      await second.send(first.agentName as string, 'hello')
      expect([first.agentName, second.agentName]).toEqual([`mcp-${process.pid}`, `mcp-${process.pid}-2`])
      expect([...(await first.getInbox())]).toMatchObject([{ from: `mcp-${process.pid}-2`, content: 'hello' }])
      expect(warned).not.toHaveBeenCalled()
    } finally {
      await Promise.all([first.disconnect(), second.disconnect()])
    }
  })

  test('connects by itself, unless autoConnect is false', async () => {
    const eager = new mcp.RelayClient({ agentName: 'eager' })
    await new Promise<void>((resolve) => eager.once('ready', () => resolve()))
    const waiting = new mcp.RelayClient({ agentName: 'waiting', autoConnect: false })
    expect((await waiting.getStatus()).connected).toBe(false)
    await waiting.connect()
    expect((await waiting.getStatus()).connected).toBe(true)
    await Promise.all([eager.disconnect(), waiting.disconnect()])
  })

  test('is whom its token names, where it has one', async () => {
    const ann = new mcp.RelayClient({ agentName: 'Ann' })
    await ann.connect()
    const again = new mcp.RelayClient({ token: ann.token })
    await again.connect()
    expect(again.agentName).toBe('Ann')
    await Promise.all([ann.disconnect(), again.disconnect()])
  })
})
