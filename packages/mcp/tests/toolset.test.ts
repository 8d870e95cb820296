// The cost of the tools for every agent: the list as a host gets it, pinned word by word, and its size. Every model reads a change of it.

import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PlayClock } from '../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../test/plays/houses.ts'
import { createServer, type Tool, toolsets, toolsOf } from '../src/index.ts'
import { instructionsFor } from '../src/instructions.ts'

let house: ProcessHouse
let bob: WorkspaceClient
/** It has our server for Bob. */
const host = new Client({ name: 'test', version: '1' })
const clock = new PlayClock()
beforeAll(async () => {
  house = new ProcessHouse(clock)
  await house.open('main')
  bob = new WorkspaceClient(house.connector('main'), { agentName: 'Bob', autoConnect: false })
  await bob.connect()
  const [near, far] = InMemoryTransport.createLinkedPair()
  await createServer(bob, { version: '0', agentName: 'Bob' }).connect(far)
  await host.connect(near)
})
afterAll(async () => {
  await host.close()
  await bob.disconnect()
  await house.close()
})

const listing = async () => (await host.listTools()).tools

test('names, descriptions and input schemas of toolset relay', async () => {
  const tools = await listing()
  const pinned = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  expect(Buffer.byteLength(JSON.stringify(pinned))).toBeLessThanOrEqual(6_000)
  const bytes = Buffer.byteLength(JSON.stringify({ tools }))
  // The README tells it.
  process.stdout.write(`toolset relay: ${bytes} bytes, about ${Math.round(bytes / 4)} tokens\n`)
  expect(bytes).toBeLessThanOrEqual(4_000)
  await expect(`${JSON.stringify(pinned, null, 2)}\n`).toMatchFileSnapshot('toolset-relay.snap')
})

test('the answer of a tool carries the brief that is due, in the place of the unread line', async () => {
  const ann = await house.connector('main')({ name: 'Ann' })
  await ann.call('message.send', { to: 'Bob', body: 'hello' }, 'c_hello')
  const { briefs } = house.dispatch('main').workspace
  const brief = 'Relay brief: you are Bob.'
  for (const [name, end] of Object.entries({
    relay_who: `\n\n${brief}\n1 unread: Ann. Call relay_inbox.`,
    relay_inbox: `hello\n\n${brief}`,
  })) {
    briefs.markDue('Bob', 'compact')
    const { content } = await host.callTool({ name, arguments: {} })
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    expect(text.slice(text.indexOf(end))).toBe(end)
    expect(text.split('unread').length).toBeLessThanOrEqual(2)
    await clock.passes(5_000)
  }
  await ann.close()
})

test('names are short and plain, and every tool has a title and all four hints', async () => {
  for (const { name, title, annotations } of await listing()) {
    expect(name).toMatch(/^[a-z0-9_]{1,32}$/)
    expect(title).toBeTruthy()
    expect(Object.keys(annotations ?? {}).sort()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint',
    ])
  }
})

const has = (name: string) => (tool: Tool) => tool.name === name

describe('the instructions', () => {
  const sets = Object.keys(toolsets)
  // Every combination, and the longest name.
  const combinations = Array.from({ length: 2 ** sets.length - 1 }, (_, n) => sets.filter((_, i) => ((n + 1) >> i) & 1))
  const roles = ['pm', 'dev-a', 'dev-b']
  const written = combinations.flatMap((names) =>
    [true, false].flatMap((hasPush) => {
      const tools = toolsOf(names.join(','))
      return [undefined, 'A'.repeat(64)].map((agentName) => ({
        tools,
        text: instructionsFor({ agentName, hasPush, tools, roles }),
      }))
    }),
  )

  test('have at most 2,000 characters', () => {
    expect(Math.max(...written.map(({ text }) => text.length))).toBeLessThanOrEqual(2_000)
  })

  test('say what an agent needs, and name no tool and no prompt that it does not have', () => {
    const every = Object.values(toolsets).flat()
    for (const { tools, text } of written) {
      for (const tool of every)
        if (!tools.some(has(tool.name))) expect(text).not.toMatch(new RegExp(`\\b${tool.name}\\b`))
      expect(text).not.toContain('relay_protocol')
      if (!tools.some(has('relay_send')) && !tools.some(has('send_message'))) continue
      for (const words of [
        'group',
        'project shop',
        'thread',
        'stored',
        'is away',
        'read at your next call',
        'relay://protocol',
      ])
        expect(text).toContain(words)
      if (tools.some(has('relay_send'))) expect(text).toContain('await_response=true waits')
    }
  })
})

test('the list is made once and stays as it is', async () => {
  expect(await listing()).toEqual(await listing())
})

test('toolsets by name, once each and in a fixed order; an unknown one is refused, naming those there are', () => {
  const names = (text?: string) => toolsOf(text).map(({ name }) => name)
  expect(names('relay, relay')).toEqual(names())
  expect(() => toolsOf('relay,nope')).toThrow(/^Unknown toolset: nope\. There are: relay/)
})
