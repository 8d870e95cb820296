// `createServer()` as a program calls it that has no relay client of its own: it finds the daemon by itself.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DaemonNotRunningError } from '@agent-relay/sdk'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { until } from '../../../test/until.ts'
import { Daemon } from '../../relay/src/daemon/daemon.ts'
import { createServer } from '../src/index.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'relay-create-'))
let daemon: Daemon
beforeAll(async () => {
  for (const name of ['RELAY_SOCKET', 'RELAY_PROJECT', 'RELAY_AGENT_NAME', 'RELAY_AGENT_TOKEN', 'RELAY_TOOLS'])
    vi.stubEnv(name, undefined)
  vi.stubEnv('RELAY_DATA_DIR', dataDir)
  // Whoever has run `npm start` in this checkout has made it a project.
  vi.spyOn(process, 'cwd').mockReturnValue(dataDir)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await daemon?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('without a daemon it rejects and says how to start one; with one it serves the tools', async () => {
  const missing = await createServer().catch((error) => error)
  expect(missing).toBeInstanceOf(DaemonNotRunningError)
  expect(missing.message).toBe('Relay daemon is not running. Start with: agent-relay daemon start')
  const credentialsPath = join(dataDir, 'credentials.json')
  const started = await Daemon.start({ dataDir, credentialsPath, isMemory: true, onTrouble() {}, onStop() {} })
  daemon = started as Daemon
  const { dispatch } = await daemon.open('home')
  const server = await createServer()
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(near)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('relay_send')
  const status = await client.callTool({ name: 'relay_status', arguments: {} })
  expect(JSON.stringify(status.content)).toContain(`- Agent Name: mcp-${process.pid}`)
  const here = () => dispatch.workspace.sessions.all().length
  const before = here()
  await client.close()
  await until(() => here() < before)
  // A server that was never connected to a host goes, too.
  const unused = await createServer()
  expect(here()).toBe(before)
  await unused.close()
  await until(() => here() < before)
})
