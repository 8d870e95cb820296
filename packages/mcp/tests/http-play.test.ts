// Two MCP clients of the official SDK talk over HTTP, on each of its transports: one play, three wires.

import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { type Era, eras, HttpWorld, textOf } from '../../relay/tests/wires/http-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start()
})
afterAll(() => world.stop())

describe.each(eras)('the play over %s', (era: Era) => {
  let ada: Client
  let bob: Client
  let run = 0
  const names = () => ({ ada: `Ada-${era}-${run}`, bob: `Bob-${era}-${run}` })
  beforeEach(async () => {
    run++
    ada = await world.client(era, world.as(names().ada))
    bob = await world.client(era, world.as(names().bob))
    // On the stateless wire an agent is there from its first call on.
    for (const client of [ada, bob]) await textOf(client, 'relay_status')
  })

  test('tools, prompt and resources are listed', async () => {
    expect((await ada.listTools()).tools.map(({ name }) => name)).toContain('relay_send')
    expect((await ada.listPrompts()).prompts.map(({ name }) => name)).toEqual(['relay_protocol'])
    expect((await ada.listResources()).resources).toHaveLength(4)
    expect(ada.getInstructions()).toContain(names().ada)
    const { contents } = await ada.readResource({ uri: 'relay://agents' })
    expect((contents[0] as { text: string }).text).toContain(names().bob)
  })

  test('a direct message, counted read at the next call and not before', async () => {
    expect(await textOf(ada, 'relay_send', { to: names().bob, message: 'take the parser?' })).toMatch(
      new RegExp(`^Message sent to ${names().bob}\\nid: m_\\w+$`),
    )
    expect(await textOf(bob, 'relay_status')).toContain(`1 unread: ${names().ada}. Call relay_inbox.`)
    expect(await textOf(bob, 'relay_inbox')).toContain('take the parser?')
    const id = (await world.api('event.list', { types: ['message.created'], limit: 1000 })).body.events.at(-1).fact.id
    const state = async () =>
      (await world.api('message.receipts', { message: id }, world.as(names().ada))).body.receipts[0].state
    expect(await state()).toBe('offered')
    await bob.listTools()
    await bob.readResource({ uri: 'relay://inbox' })
    expect(await state()).toBe('offered')
    expect(await textOf(bob, 'relay_inbox')).toBe('No messages in inbox.')
    expect(await state()).toBe('read')
  })

  test('a channel message, a broadcast and a thread', async () => {
    await textOf(ada, 'relay_send', { to: '#general', message: 'to the channel' })
    await textOf(ada, 'relay_send', { to: '*', message: 'to everyone' })
    await textOf(ada, 'relay_send', { to: names().bob, message: 'in a thread', thread: 'task-123' })
    const inbox = await textOf(bob, 'relay_inbox')
    expect(inbox).toContain('to the channel')
    expect(inbox).toContain('to everyone')
    expect(inbox).toContain('in a thread')
    expect(inbox).toContain('task-123')
  })

  test('an awaited reply', async () => {
    const wait = { await_response: true, timeout_ms: guardMs }
    const asking = textOf(ada, 'relay_send', { to: names().bob, message: 'ready?', ...wait })
    await expect.poll(() => textOf(bob, 'relay_inbox')).toContain('ready?')
    await textOf(bob, 'relay_send', { to: names().ada, message: 'yes' })
    expect(await asking).toMatch(new RegExp(`^Response from ${names().bob}: yes\\nid: m_\\w+$`))
  })
})

test('a client of each wire without a name: two sessions are numbered, a stateless call is nobody', async () => {
  const bearer = { authorization: `Bearer ${world.key}` }
  const status = async (era: Era) => textOf(await world.client(era, bearer, { name: 'Claude Code' }), 'relay_status')
  expect(await status('2025')).toContain('Agent Name: claude-code\n')
  expect(await status('2025')).toContain('Agent Name: claude-code-2\n')
  expect(await status('sse')).toContain('Agent Name: claude-code-3\n')
  expect(await status('2026')).toContain('Agent Name: Not registered')
  const nobody = await world.client('2026', bearer)
  expect(await textOf(nobody, 'relay_send', { to: '*', message: 'who am I?' })).toMatch(/X-Relay-Agent/)
  expect(await textOf(nobody, 'relay_who')).toContain('claude-code-2')
})

test('an agent that talks over two wires is one agent', async () => {
  const token = await world.token('Eve')
  const bearer = { authorization: `Bearer ${token}` }
  const [old, recent] = [await world.client('2025', bearer), await world.client('2026', bearer)]
  expect(await textOf(old, 'relay_status')).toContain('Agent Name: Eve\n')
  expect(await textOf(recent, 'relay_status')).toContain('Agent Name: Eve\n')
})

test('the daemon had no trouble', () => {
  expect(world.troubles).toEqual([])
})
