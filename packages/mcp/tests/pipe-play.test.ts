// Two MCP clients of the official SDK talk, each over a pipe process of its own: the play that every other wire runs too.

import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { until } from '../../../test/until.ts'
import { call, PipeWorld } from './pipe-world.ts'

describe.each(['socket', 'HTTP'])('over the %s', (way) => {
  let world: PipeWorld
  let ada: Client
  let bob: Client
  beforeAll(async () => {
    world = await PipeWorld.start()
    const env = way === 'HTTP' ? world.overHttp() : {}
    ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada', ...env })
    bob = await world.client('codex-mcp-client', { RELAY_AGENT_NAME: 'Bob', ...env })
  })
  afterAll(() => world.close())

  test('tools, prompt, resources and instructions come through', async () => {
    expect((await ada.listTools()).tools.map(({ name }) => name)).toEqual([
      'relay_send',
      'relay_inbox',
      'relay_who',
      'relay_status',
      'relay_spawn',
      'relay_release',
    ])
    expect((await ada.listPrompts()).prompts.map(({ name }) => name)).toEqual(['relay_protocol'])
    const { resources } = await ada.listResources()
    // In the words that they were asked for in.
    expect(resources.map(({ uri, name, description }) => [uri, name, description])).toEqual([
      ['relay://agents', 'Online Agents', 'Live list of agents currently connected to relay'],
      ['relay://inbox', 'Message Inbox', 'Your pending messages (a look: nothing is marked read)'],
      ['relay://project', 'Project Info', 'Current relay project configuration'],
      expect.arrayContaining(['relay://protocol']),
    ])
    const { contents } = await ada.readResource({ uri: 'relay://protocol' })
    const { description, messages } = await ada.getPrompt({ name: 'relay_protocol' })
    expect(description).toBe('Agent Relay protocol documentation')
    expect(contents).toMatchObject([
      { mimeType: 'text/markdown', text: expect.stringMatching(/^# Agent Relay protocol/) },
    ])
    expect(messages).toMatchObject([{ content: { text: (contents[0] as { text: string }).text } }])
    expect(ada.getInstructions()).toContain('You are Ada.')
    expect(await call(ada, 'relay_status')).toContain('- Connected: Yes\n- Agent Name: Ada\n- Project: play')
  })

  test('a direct message, counted read at the next call', async () => {
    expect(await call(ada, 'relay_send', { to: 'Bob', message: 'take the parser?' })).toMatch(
      /^Message sent to Bob\nid: m_\w+$/,
    )
    expect(await call(bob, 'relay_status')).toContain('1 unread: Ada. Call relay_inbox.')
    expect(await call(bob, 'relay_inbox')).toMatch(/^1 message\(s\):\n\n\[m_\w+\] From Ada:\ntake the parser\?$/)
    expect(await call(bob, 'relay_inbox')).toBe('No messages in inbox.')
  })

  test('others see the CLI of an agent that has a name of its own', async () => {
    const who = await call(ada, 'relay_who')
    expect(who).toMatch(/^2 agent\(s\) online:\n/)
    for (const line of ['- Ada (claude) - ', '- Bob (codex) - ']) expect(who).toContain(line)
  })

  test('a channel message, a broadcast and a thread', async () => {
    await call(ada, 'relay_send', { to: '#general', message: 'to the channel' })
    await call(ada, 'relay_send', { to: '*', message: 'to everyone' })
    await call(ada, 'relay_send', { to: 'Bob', message: 'in a thread', thread: 'task-123' })
    const inbox = await call(bob, 'relay_inbox')
    expect(inbox).toMatch(/From Ada \[#general\]:\nto the channel/)
    expect(inbox).toMatch(/From Ada to everyone \(answer to Ada\):\nto everyone/)
    expect(inbox).toMatch(/From Ada \(thread: task-123\):\nin a thread/)
  })

  test('a refusal names the tools that the agent has', async () => {
    expect(await call(ada, 'relay_send', { to: 'Bbo', message: 'x' })).toBe(
      'Error: Agent not found: Bbo. Did you mean Bob? All names: relay_who',
    )
    expect(await call(ada, 'relay_send', { to: '#genral', message: 'x' })).toBe(
      'Error: Channel not found: #genral. There is #general. To make it: relay_send(to="#genral", message=…, create=true)',
    )
    expect(await call(ada, 'relay_release', { name: 'Nobody' })).toBe(
      'Failed to release worker: No worker is named "Nobody". Workers are marked in relay_who.',
    )
    expect(await call(ada, 'relay_send', { to: '#made', message: 'x', create: true })).toMatch(
      /^Message sent to #made\n/,
    )
  })

  test('an awaited reply, and a wait that ends without one', async () => {
    const wait = { await_response: true, timeout_ms: guardMs }
    const waiting = call(ada, 'relay_send', { to: 'Bob', message: 'which branch?', ...wait })
    await until(async () => (await call(bob, 'relay_inbox')).includes('which branch?'))
    await call(bob, 'relay_send', { to: 'Ada', message: 'main' })
    expect(await waiting).toMatch(/^Response from Bob: main\nid: m_\w+$/)
    const silence = { to: 'Bob', message: 'still there?', await_response: true, timeout_ms: 100 }
    const unanswered = await ada.callTool({ name: 'relay_send', arguments: silence })
    expect(unanswered.isError).toBe(true)
  })

  test('one who waits can be called off', async () => {
    const off = new AbortController()
    const params = { name: 'relay_send', arguments: { to: 'Bob', message: 'never mind', await_response: true } }
    const waiting = ada.callTool(params, { signal: off.signal })
    await until(async () => (await call(bob, 'relay_inbox')).includes('never mind'))
    off.abort(new Error('no longer needed'))
    await expect(waiting).rejects.toThrow('no longer needed')
    expect(await call(ada, 'relay_status')).toContain('Agent Name: Ada')
  })

  test('the examples of the protocol that name a channel work as they stand, in their order', async () => {
    const { messages } = await ada.getPrompt({ name: 'relay_protocol' })
    const [{ content }] = messages as unknown as [{ content: { text: string } }]
    const examples = [...content.text.matchAll(/^ {4}(relay_\w+)\((.*#.*)\)$/gm)]
    expect(examples).toHaveLength(3)
    for (const [, name, inputs] of examples as unknown as [string, string, string][]) {
      const pairs = [...inputs.matchAll(/(\w+)=("[^"]*"|true)/g)].map(([, key, value]) => [key, JSON.parse(`${value}`)])
      expect(await call(ada, name, Object.fromEntries(pairs))).not.toMatch(/^Error/)
    }
  })
})
