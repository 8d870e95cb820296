// The plugin as opencode runs it, on a real daemon: this process plays opencode with its interface.

import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { until } from '../../../test/until.ts'
import { pluginPath, refreshPlugin } from '../src/hooks/opencode-plugin.ts'
import { call, type Json, PipeWorld } from './pipe-world.ts'

let world: PipeWorld
let lead: RelayClient
let own: Client
let start: (input: object) => Promise<{ event(input: { event: object }): void }>
beforeAll(async () => {
  world = await PipeWorld.start()
  lead = new RelayClient({ agentName: 'Lead', socketPath: world.socketPath })
  await lead.connect()
  own = await world.client('opencode')
  await call(own, 'relay_status')
  for (const [name, value] of Object.entries(world.env())) vi.stubEnv(name, value)
  refreshPlugin(world.env())
  start = (await import(pathToFileURL(pluginPath(world.env())).href)).AgentRelay
})
let end = () => {}
afterEach(async () => {
  end()
  await until(async () => (await reached()) !== 'wakes')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await lead.disconnect()
  await world.close()
})

const reached = async () =>
  (await lead.call('agent.list', {})).agents.find(({ name }) => name === 'opencode')?.reached as string
const receipt = async (id: string): Promise<Json> => (await lead.call('message.receipts', { message: id })).receipts[0]

const model = { providerID: 'p', modelID: 'm' }
const planned = [
  { info: { role: 'user', agent: 'build', model } },
  { info: { role: 'assistant', agent: 'build' } },
  { info: { role: 'user', agent: 'plan', model, tools: { write: false } } },
  { info: { role: 'assistant', agent: 'plan' } },
]

/** A session that is idle, with a waiter beside it. What the interface answers may be an error, which is returned and not thrown. */
async function idle({
  messages = async () => ({ data: planned }) as Json,
  prompted = async () => ({ data: {} }) as Json,
} = {}) {
  const prompts: Json[] = []
  const session = {
    get: async () => ({ data: {} }),
    messages: () => messages(),
    promptAsync: (prompt: Json) => {
      prompts.push(prompt)
      return prompted()
    },
  }
  const { event } = await start({ client: { session }, directory: world.root })
  const tell = (type: string, more: object = {}) =>
    event({ event: { type, properties: { sessionID: 's', info: { id: 's' }, ...more } } })
  end = () => tell('session.deleted')
  tell('session.idle')
  await until(async () => (await reached()) === 'wakes')
  return { prompts, tell }
}

const begins = { status: { type: 'busy' } }

test.runIf(process.platform === 'linux')('what waits beside an idle session is no Node', async () => {
  await idle()
  const [waiter] = readdirSync(join(world.root, 'hooks')).flatMap((name) => /^\d+\.(\d+)$/.exec(name)?.[1] ?? [])
  expect(readlinkSync(`/proc/${waiter}/exe`)).not.toBe(realpathSync(process.execPath))
  // Nor does the hook stay that has looked for mail.
  await until(() => readFileSync(`/proc/${waiter}/task/${waiter}/children`, 'utf8') === '')
})

describe('a message', () => {
  test('runs as the last one of the person did, and counts as shown once opencode has it', async () => {
    let accept: (answer: object) => void = () => {}
    const accepted = new Promise((resolve) => {
      accept = resolve
    })
    const { prompts, tell } = await idle({ prompted: () => accepted })
    const { id } = await lead.send('opencode', 'look at this')
    await until(() => prompts.length === 1)
    expect(prompts[0]).toEqual({
      path: { id: 's' },
      body: {
        agent: 'plan',
        model,
        tools: { write: false },
        parts: [{ type: 'text', text: expect.stringContaining(`Relay message from Lead [${id}]: look at this\n`) }],
      },
    })
    // Its waiter holds it until opencode has it.
    const [storedAt, heldUntil] = [expect.any(String), expect.any(String)]
    expect(await receipt(id)).toEqual({ agent: 'opencode', state: 'stored', storedAt, heldUntil })
    // The turn that it begins may be told before the answer comes.
    tell('session.status', begins)
    accept({ data: {} })
    await until(async () => (await receipt(id)).route === 'http')
    tell('session.idle')
    await until(async () => (await reached()) === 'wakes')
    await lead.send('opencode', 'and at this')
    await until(() => prompts.length === 2)
    expect(JSON.stringify(prompts)).toMatch(/^(?!.*look at this.*look at this).*and at this/)
  })

  test.each([
    ['opencode answers with an error', { prompted: async () => ({ error: { name: 'x' } }) }, 1],
    ['opencode cannot be reached', { prompted: () => Promise.reject(new Error('x')) }, 1],
    ['nobody has said anything yet', { messages: async () => ({ data: [] }) }, 0],
    ['its mode is not known', { messages: async () => ({ data: [{ info: { role: 'user' } }] }) }, 0],
    ['its messages cannot be read', { messages: async () => ({ error: { name: 'x' } }) }, 0],
  ])('waits in the inbox where %s', async (_, answers, asked) => {
    const { prompts } = await idle(answers)
    await lead.send('opencode', 'not lost')
    await until(async () => (await reached()) !== 'wakes')
    await until(async () => JSON.stringify(await call(own, 'relay_inbox')).includes('not lost'))
    expect(prompts).toHaveLength(asked)
  })

  test('waits for the end of a turn that begins just then', async () => {
    let asked = 0
    const { prompts, tell } = await idle({
      messages: async () => {
        if (asked++ === 0) tell('session.status', begins)
        return { data: planned }
      },
    })
    const { id } = await lead.send('opencode', 'after this turn')
    await until(async () => asked === 1 && (await reached()) !== 'wakes')
    expect(prompts).toEqual([])
    tell('session.idle')
    await until(() => prompts.length === 1)
    await until(async () => (await receipt(id)).route === 'http')
  })
})
