// The toolset `workspace` as a host sees it: its list, its errors, the name of an unnamed session, and tokens in the stateless era.

import { relayToolNames } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { ActionsWorld, type McpAgent, wires } from '../../relay/tests/broker/actions-world.ts'
import { toolListing, toolsets, toolsOf } from '../src/index.ts'

let world: ActionsWorld
beforeAll(async () => {
  world = await ActionsWorld.start()
})
afterAll(() => world.stop())

describe('the list', () => {
  test('is pinned, and costs little', () => {
    const tools = toolsOf('workspace').map(toolListing)
    expect(tools).toMatchSnapshot()
    expect(JSON.stringify({ tools }).length).toBeLessThan(9_000)
    for (const { title, annotations } of tools) {
      expect(title).not.toBe('')
      expect(Object.keys(annotations ?? {})).toHaveLength(4)
    }
  })

  test('no action may take the name of a tool, present or announced', () => {
    const present = Object.values(toolsets).flatMap((tools) => tools.map(({ name }) => name))
    const announced = [
      ...['agent_start', 'agent_status', 'agent_complete', 'agent_stop'],
      ...['post_message', 'read_messages', 'list_pending'],
    ]
    expect([...relayToolNames].sort()).toEqual([...new Set([...present, ...announced])].sort())
  })

  test("as `mcp start` gives it, with the relay's own actions, it is small", async () => {
    const tools = await (await world.agent('pipe')).tools()
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThanOrEqual(9_800)
    for (const tool of tools) expect(tool).not.toHaveProperty('outputSchema')
  })

  test('toolsets together list each tool once; `actions` has three and what the daemon offers', async () => {
    const both = toolsOf('workspace,actions,relay').map(({ name }) => name)
    expect(new Set(both).size).toBe(both.length)
    const agent = await world.agent('2025', { tools: 'actions' })
    const generic = ['actions_list', 'actions_invoke', 'actions_result']
    const runtime = ['agent_create', 'agent_pause', 'agent_release', 'agent_resume', 'agent_status']
    expect(await agent.toolNames()).toEqual([...generic, ...runtime])
  })

  test('the argument agent_token stands only in the list of the stateless era', async () => {
    for (const wire of wires) {
      const [first] = await (await world.agent(wire)).tools()
      expect('agent_token' in (first?.inputSchema.properties ?? {})).toBe(wire === '2026')
    }
  })
})

describe.each(wires)('over %s', (wire) => {
  test('every error is an envelope with a code, and says the fix', async () => {
    const agent = await world.agent(wire)
    await agent.register(`Erring-${wire}`)
    const cases: [tool: string, args: object, code: string, fix: RegExp][] = [
      ['send_message', { to: `Nobody-${wire}`, text: 'x' }, 'agent.unknown', /All names: list_agents\(status="all"\)$/],
      ['send_message', { text: 'x' }, 'input.invalid', /either to or channel/],
      ['send_message', { to: 5, text: 'x' }, 'input.invalid', /Invalid input for send_message: to/],
      ['reply', { message: 'm_none', text: 'x' }, 'message.unknown', /m_none/],
      ['react', { message: 'm_none', emoji: '👍' }, 'message.unknown', /m_none/],
      ['mark_read', {}, 'input.invalid', /either message or thread/],
      ['leave_channel', { channel: 'general' }, 'channel.permanent', /cannot be left/],
      ['list_inbox', { channel: '#none' }, 'channel.unknown', /To make it: join_channel\(channel="#none"\)$/],
      ['actions_result', { invocation: 'act_none' }, 'invocation.unknown', /act_none/],
      ['register_agent', { name: 'no spaces' }, 'input.invalid', /a name is 1 to 64/],
      ['register_agent', { name: `Erring-${wire}`, type: 'human' }, 'auth.denied', /workspace key/],
    ]
    for (const [tool, args, code, fix] of cases) {
      const { isError, data } = await agent.call(tool, args)
      expect({ tool, isError, data }).toMatchObject({ tool, isError: true, data: { ok: false, error: { code } } })
      expect(data.error.message).toMatch(fix)
    }
    expect((await agent.call('workspace_status')).data).toMatchObject({ ok: true, agent: `Erring-${wire}` })
  })

  test('a group, by a list or by commas; its reply goes to the group', async () => {
    const names = ['Ann', 'Ben', 'Cid'].map((name) => `${name}-${wire}`)
    const enter = async (name: string) => {
      const agent = await world.agent(wire)
      await agent.register(name)
      return agent
    }
    const [ann, ben, cid] = (await Promise.all(names.map(enter))) as [McpAgent, McpAgent, McpAgent]
    const sent = await ann.call('send_message', { to: names.slice(1), text: 'all three' })
    expect(sent.data.to).toEqual(names.slice(1))
    const again = await ann.call('send_message', { to: names.slice(1).join(', '), text: 'again', kind: 'question' })
    expect(again.data.to).toEqual(names.slice(1))
    const { data } = await ben.call('list_inbox')
    expect(data.messages.map(({ body }: { body: string }) => body)).toEqual(['all three', 'again'])
    const replied = await ben.call('reply', { message: data.messages[0].id, text: 'to all of us' })
    expect(replied.data.to).toEqual([names[0], names[2]])
    const { data: cids } = await cid.call('list_inbox', { from: names[1] })
    expect(cids.messages).toMatchObject([{ body: 'to all of us', thread: data.messages[0].id }])
  })

  test('a waiting message is told of once, in a block of its own', async () => {
    const agent = await world.agent(wire)
    await agent.register(`Hinted-${wire}`)
    const { client } = await world.program(`writer-${wire}`)
    await client.send(`Hinted-${wire}`, 'for you')
    expect((await agent.call('list_channels')).hint).toBe(`1 unread: writer-${wire}. Call list_inbox.`)
    expect((await agent.call('list_channels')).hint).toBeUndefined()
  })
})

describe('a session without a name', () => {
  test.each(['pipe', '2025'] as const)('over %s it is nobody until it must be somebody', async (wire) => {
    const agent = await world.agent(wire)
    expect((await agent.call('workspace_status')).data.agent).toBeUndefined()
    expect((await agent.call('list_agents')).data.ok).toBe(true)
    // A tool that acts as an agent: now it has the name that its host suggests.
    await agent.call('join_channel', { channel: '#lobby' })
    const { agent: given } = (await agent.call('workspace_status')).data
    expect(given).toMatch(/^test-host(-\d+)?$/)
    const { agent: chosen } = await agent.register(`Chosen-${wire}`)
    expect(chosen).toBe(`Chosen-${wire}`)
    expect((await agent.call('workspace_status')).data.agent).toBe(`Chosen-${wire}`)
    const online = (await agent.call('list_agents')).data.agents.map(({ name }: { name: string }) => name)
    expect(online).toContain(`Chosen-${wire}`)
    expect(online).not.toContain(given)
    // A name that was chosen stays.
    const other = await agent.call('register_agent', { name: 'Somebody' })
    expect(other.data.error).toMatchObject({ code: 'auth.denied', message: expect.stringContaining('acts as Chosen') })
    expect((await agent.call('list_channels')).data.ok).toBe(true)
  })

  test('a name in use gets a number, and asking for it again changes nothing', async () => {
    const [first, second] = [await world.agent('pipe'), await world.agent('2025')]
    expect((await first.register('Twin')).agent).toBe('Twin')
    expect((await second.register('Twin')).agent).toBe('Twin-2')
    expect((await second.register('Twin')).agent).toBe('Twin-2')
  })

  test('a name that was given from outside is kept, and described', async () => {
    const agent = await world.agent('pipe', { name: 'Given' })
    expect((await agent.call('workspace_status')).data.agent).toBe('Given')
    expect(await agent.register('Given', { handle: 'the-given' })).toMatchObject({ ok: true, agent: 'Given' })
    const { agents } = (await agent.call('list_agents')).data
    expect(agents).toContainEqual(expect.objectContaining({ name: 'Given', handle: 'the-given' }))
  })
})

describe('the token of the stateless era', () => {
  test('without one, nobody: told to register', async () => {
    const agent = await world.agent('2026')
    const { data } = await agent.call('send_message', { to: '*', text: 'x' })
    expect(data.error).toMatchObject({ code: 'agent.required', message: expect.stringContaining('register_agent') })
    // The key opens the workspace; what others say to each other is not nobody's to see.
    expect((await agent.call('list_events')).data.error.code).toBe('agent.required')
    expect((await agent.call('list_agents')).data.ok).toBe(true)
  })

  test('it acts as its agent alone, and another may not take the name', async () => {
    const [ada, eve] = [await world.agent('2026'), await world.agent('2026')]
    await ada.register('Ada-token')
    expect((await eve.register('Ada-token')).agent).toBe('Ada-token-2')
    expect((await ada.call('workspace_status')).data.agent).toBe('Ada-token')
    expect((await eve.call('workspace_status')).data.agent).toBe('Ada-token-2')
    // Its own name again, shown by its token: another token, and the first still holds.
    const first = ada.token
    expect((await ada.register('Ada-token')).agent).toBe('Ada-token')
    expect(ada.token).not.toBe(first)
    ada.token = first
    expect((await ada.call('join_channel', { channel: '#x' })).data.ok).toBe(true)
  })

  test('a forged one, and one of another workspace, is refused by every tool', async () => {
    const agent = await world.agent('2026')
    const elsewhere = { authorization: `Bearer ${world.http.keys.get('other')}` }
    const { token } = (await world.http.api('agent.register', { name: 'Foreigner' }, elsewhere)).body
    expect(token).toMatch(/^at_/)
    for (const shown of ['at_forged', token]) {
      agent.token = shown
      for (const tool of ['list_agents', 'join_channel', 'register_agent']) {
        const { isError, data } = await agent.call(tool, { channel: '#x', name: 'X' })
        expect([tool, isError, data.error?.code]).toEqual([tool, true, 'auth.required'])
      }
    }
  })

  test('the header names an agent too, and no token is needed then', async () => {
    const agent = await world.agent('2026', { name: 'Header' })
    expect((await agent.call('join_channel', { channel: '#x' })).data.ok).toBe(true)
    const { data } = await agent.call('register_agent', { name: 'Other' })
    expect(data.error.code).toBe('auth.denied')
  })
})

describe('events', () => {
  test('only what was asked for, only what one may see, until it is ended', async () => {
    const agent = await world.agent('pipe')
    await agent.register('Watcher')
    const { client } = await world.program('talker')
    await client.send('Watcher', 'before')
    const { data } = await agent.call('list_events', { types: ['message.created'] })
    expect(data.events.map((event: { message: { body: string } }) => event.message.body)).toEqual(['before'])
    await agent.call('subscribe_events', { types: ['message.created'], since: 0 })
    await until(() => agent.events('message.created').length === 1)
    await world.program('other')
    await client.send('other', 'not for Watcher')
    await client.send('Watcher', 'after')
    await until(() => agent.events('message.created').length === 2)
    expect(agent.events('message.created').map(({ message }) => message.body)).toEqual(['before', 'after'])
    expect(agent.notes.filter(({ params }) => params?.type === 'agent.registered')).toEqual([])
    expect((await agent.call('subscribe_events', { types: [] })).data).toMatchObject({ pushed: false })
    for (const tool of ['subscribe_events', 'list_events'])
      expect((await agent.call(tool, { types: ['message.*', 'mesage.created'] })).data).toEqual({
        ok: false,
        error: {
          code: 'input.invalid',
          message: expect.stringMatching(/^No event is of the type "mesage.created"\. .*message\.\*/),
        },
      })
    expect((await agent.call('list_events', { types: ['session.*'] })).data).toMatchObject({ ok: true, events: [] })
    await client.send('Watcher', 'unseen')
    await agent.call('workspace_status')
    expect(agent.events('message.created')).toHaveLength(2)
  })
})
