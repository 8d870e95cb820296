// A pipe of toolset `workspace` outlives its daemon: the name it chose, the events it subscribed, and errors that stay envelopes meanwhile.

import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { Actions } from '@agent-relay/sdk/internal/client'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { PlayClock } from '../../../test/plays/clock.ts'
import { DaemonHouse } from '../../../test/plays/houses.ts'
import { until } from '../../../test/until.ts'
import { McpAgent } from '../../relay/tests/broker/actions-world.ts'

const pipeLauncher = fileURLToPath(new URL('../bin/agent-relay-mcp.cjs', import.meta.url))
let house: DaemonHouse
let agent: McpAgent
let program: RelayClient

beforeEach(async () => {
  house = await DaemonHouse.start(new PlayClock())
  await house.open('main')
  program = new RelayClient({ agentName: 'program', connect: socketConnector(socketPathOf(house.dataDir, 'main')) })
  program.on('error', () => {})
  await program.connect()
  await new Actions(program).register({
    name: 'thing.do',
    description: 'x',
    inputSchema: z.object({}),
    handler: () => 'done',
  })
  const client = new Client({ name: 'test-host', version: '1' })
  agent = new McpAgent(client, 'pipe')
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: house.dataDir,
    RELAY_DATA_DIR: house.dataDir,
    RELAY_PROJECT: 'main',
    RELAY_TOOLS: 'workspace',
    NODE_EXTRA_CA_CERTS: '',
  }
  const args = [pipeLauncher, 'serve']
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: house.dataDir }))
})
afterEach(async () => {
  await agent.client.close()
  await program.disconnect()
  await house.close()
})

test('name, subscription and actions are there again after a restart', async () => {
  await agent.register('Chosen')
  await agent.call('subscribe_events', { types: ['message.created'] })
  await program.send('Chosen', 'one')
  await until(() => agent.events('message.created').length === 1)
  await house.stop()
  const away = await agent.call('list_channels')
  expect(away).toMatchObject({ isError: true, data: { ok: false, error: { code: 'daemon.not-running' } } })
  await house.start()
  await until(async () => (await agent.call('workspace_status')).data.agent === 'Chosen')
  await program.send('Chosen', 'two')
  await until(() => agent.events('message.created').length === 2)
  expect(agent.events('message.created').map(({ message }) => message.body)).toEqual(['one', 'two'])
  await until(async () => (await agent.call('thing_do')).data.ok === true)
  expect(await agent.toolNames()).toContain('thing_do')
})
