// A refusal says how to fix it, by the means of its reader: an agent's own tools, a person's command, a program's call of the SDK.

import { expect, test } from 'vitest'
import { relayToolNames } from '../src/protocol/index.ts'
import { type Fixes, fixes } from '../src/protocol/refusals/fixes.ts'
import { messageFor, type RefusalCode, refusal, refusals } from '../src/protocol/refusals.ts'

const agentWith = (...tools: string[]) => ({ hasTool: (name: string) => tools.includes(name) })

test('an agent is told its own tool, a person a command, a program a call', () => {
  const unknown = refusal('agent.unknown', { name: 'Bbo', nearest: ['Bob'] })
  const what = 'Agent not found: Bbo. Did you mean Bob?'
  expect(messageFor(agentWith('relay_send', 'relay_who'), unknown)).toBe(`${what} All names: relay_who`)
  expect(messageFor(agentWith('list_agents'), unknown)).toBe(`${what} All names: list_agents(status="all")`)
  expect(messageFor('person', unknown)).toBe(`${what} All names: agent-relay who --all`)
  expect(messageFor('program', unknown)).toBe(unknown.message)
  expect(unknown.message).toBe(`${what} All names: relay.agents.list({ includeOffline: true })`)
})

test('a channel that does not exist: the nearest names, and how this reader makes it', () => {
  const unknown = refusal('channel.unknown', { channel: '#biuld', channels: ['#build', '#general'], more: 0 })
  const what = 'Channel not found: #biuld. There are #build, #general.'
  expect(messageFor(agentWith('relay_send'), unknown)).toBe(
    `${what} To make it: relay_send(to="#biuld", message=…, create=true)`,
  )
  expect(messageFor(agentWith('join_channel'), unknown)).toBe(`${what} To make it: join_channel(channel="#biuld")`)
  expect(messageFor('person', unknown)).toBe(`${what} To make it: agent-relay channels create biuld`)
  const elsewhere = refusal('channel.unknown', { ...unknown.details, canMake: false })
  expect(messageFor('person', elsewhere)).toBe(what)
})

test('a message that is not from the table stays as it is', () => {
  const other = { code: 'agent.unknown', message: 'Agent not found: Bob', details: {} }
  expect(messageFor('person', other)).toBe('Agent not found: Bob')
  expect(messageFor('person', { code: 'thing.unknown', message: 'newer' })).toBe('newer')
  expect(messageFor('person', { message: 'a fault' })).toBe('a fault')
})

test('every tool that a fix names is one of ours, and no text names the command of one kind of reader alone', () => {
  for (const [code, { agent }] of Object.entries(fixes) as [RefusalCode, Fixes][]) {
    expect(Object.keys(refusals)).toContain(code)
    for (const tool of typeof agent === 'object' ? Object.keys(agent) : []) {
      if (tool !== '') expect(relayToolNames).toContain(tool)
    }
  }
  // What only its owner can do at the machine itself names a command for everyone.
  const byOwner = /^(workspace|page|port|origin|daemon|store|data|config|bind|cluster|machine)\./
  for (const [code, { text }] of Object.entries(refusals)) {
    if (!byOwner.test(code)) expect(`${code}: ${text({ channels: [], failures: [] })}`).not.toMatch(/agent-relay [a-z]/)
  }
})
