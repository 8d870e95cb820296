// The lift's three tools, played by clients of the official SDK over /sse and over /mcp in both eras: the caller's role, and when messages are consumed.

import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { called as call, type Era, eras, HttpWorld, type Json } from '../wires/http-world.ts'

const roles = ['pm', 'dev-a', 'dev-b']

let world: HttpWorld
beforeEach(async () => {
  world = await HttpWorld.start({ isOpen: true }, ['lift'], { roles })
})
afterEach(async () => {
  expect(world.troubles).toEqual([])
  await world.stop()
})

const sockets: WorkspaceClient[] = []
afterEach(async () => {
  for (const client of sockets.splice(0)) await client.disconnect()
})

/** The person at the relay's own terminal. */
async function onSocket(): Promise<WorkspaceClient> {
  const connect = socketConnector(socketPathOf(world.dir, 'lift'))
  const client = new WorkspaceClient(connect, { agentName: 'kim', key: world.key, autoConnect: false })
  sockets.push(client)
  await client.connect()
  return client
}

const post = (client: Client, from: string, to: string, body: string, kind = 'status') =>
  call(client, 'post_message', { from, to, kind, body })
const read = (client: Client, role: string): Promise<Json[]> => call(client, 'read_messages', { for: role })
const bodies = async (client: Client, role: string) => (await read(client, role)).map(({ body }) => body)
const pending = (client: Client, role: string) => call(client, 'list_pending', { for: role })

describe.each(eras)('over %s', (era: Era) => {
  const open = (headers = {}) => world.client(era, headers)

  test('the toolset of the port, and no other', async () => {
    const names = async (query?: string) =>
      (await (await world.client(era, {}, { query })).listTools()).tools.map(({ name }) => name)
    for (const query of [undefined, 'tools=lift'])
      expect(await names(query)).toEqual(['post_message', 'read_messages', 'list_pending'])
    const { tools } = await (await open()).listTools()
    const roleInputs = { post_message: ['from', 'to'], read_messages: ['for'], list_pending: ['for'] }
    for (const { name, inputSchema } of tools)
      for (const input of roleInputs[name as keyof typeof roleInputs])
        expect(inputSchema.properties?.[input]).toMatchObject({ type: 'string', enum: roles })
    for (const query of ['tools=lift,relay', 'tools=relay', 'tools=agents'])
      await expect(world.client(era, {}, { query })).rejects.toThrow()
    expect((await open()).getInstructions()).toContain('Roles: pm, dev-a, dev-b.')
  })

  test('a round trip, of one message and of several', async () => {
    const [pm, dev] = [await open(), await open()]
    const { id } = await post(dev, 'dev-b', 'pm', '## STATUS UPDATE\n\nTask P4 DONE')
    const [message, ...rest] = await read(pm, 'pm')
    expect(rest).toEqual([])
    expect(Object.keys(message as Json).sort()).toEqual(['body', 'from', 'id', 'kind', 'to', 'ts'])
    expect(message).toMatchObject({
      id,
      from: 'dev-b',
      to: 'pm',
      kind: 'status',
      body: '## STATUS UPDATE\n\nTask P4 DONE',
    })
    expect(new Date(message?.ts).toISOString()).toBe(message?.ts)
    await post(pm, 'pm', 'dev-b', 'PROCEED to task B1', 'directive')
    await post(pm, 'pm', 'dev-b', 'and tell me when', 'free')
    expect(await bodies(dev, 'dev-b')).toEqual(['PROCEED to task B1', 'and tell me when'])
  })

  test('consumed once, by whichever session', async () => {
    const [pm, dev] = [await open(), await open()]
    await post(dev, 'dev-a', 'pm', 'once')
    expect(await bodies(pm, 'pm')).toEqual(['once'])
    expect(await bodies(pm, 'pm')).toEqual([])
    expect(await bodies(dev, 'pm')).toEqual([])
  })

  test('looking at what is pending takes nothing', async () => {
    const client = await open()
    expect(await pending(client, 'pm')).toEqual({ count: 0, kinds: [] })
    await post(client, 'dev-a', 'pm', 'which branch?', 'question')
    await post(client, 'dev-b', 'pm', 'done')
    for (let i = 0; i < 2; i++) {
      const { count, kinds } = await pending(client, 'pm')
      expect({ count, kinds: kinds.sort() }).toEqual({ count: 2, kinds: ['question', 'status'] })
    }
    expect(await bodies(client, 'pm')).toEqual(['which branch?', 'done'])
    expect(await pending(client, 'pm')).toEqual({ count: 0, kinds: [] })
  })

  test('first in, first out, whoever posted', async () => {
    const client = await open()
    const posted = Array.from({ length: 12 }, (_, i) => `message ${i}`)
    for (const [i, body] of posted.entries()) await post(client, i % 3 === 0 ? 'dev-b' : 'dev-a', 'pm', body)
    expect(await bodies(client, 'pm')).toEqual(posted)
  })

  test('an unknown role is an error, and nothing is queued', async () => {
    const client = await open()
    const unknown = /There is no role "qa"\. The roles of this lift: pm, dev-a, dev-b\./
    await expect(post(client, 'pm', 'qa', 'hello')).rejects.toThrow(unknown)
    await expect(post(client, 'qa', 'pm', 'hello')).rejects.toThrow(unknown)
    await expect(read(client, 'qa')).rejects.toThrow(unknown)
    await expect(pending(client, 'qa')).rejects.toThrow(unknown)
    await expect(post(client, 'pm', '#general', 'hello')).rejects.toThrow(/There is no role/)
    await expect(read(client, 'x'.repeat(200_000))).rejects.toThrow(/There is no role "x{61}…"/)
    await expect(post(client, 'pm', 'pm', 'to myself')).rejects.toThrow(/yourself/i)
    await expect(post(client, 'pm', 'dev-a', 'hello', 'shout')).rejects.toThrow(/kind/)
    const { events } = await (await onSocket()).call('event.list', { types: ['message.created'] })
    expect(events).toEqual([])
  })

  test('a session that shows a name or a token may use only its own', async () => {
    const { dispatch } = await world.daemon.open('lift')
    const { session, welcome } = await dispatch.openSession('owner', { name: 'dev-b' })
    dispatch.workspace.sessions.end(session)
    const { token } = welcome
    const named = await open({ 'x-relay-agent': 'dev-a' })
    const proven = await open({ authorization: `Bearer ${token}` })
    await post(named, 'dev-a', 'dev-b', 'mine')
    expect(await bodies(proven, 'dev-b')).toEqual(['mine'])
    await expect(post(named, 'pm', 'dev-b', 'not mine')).rejects.toThrow(/this session is dev-a and cannot act as pm/)
    await expect(read(proven, 'pm')).rejects.toThrow(/this session is dev-b and cannot act as pm/)
  })

  test('a session that shows its name may post without saying it; another one is asked for its role', async () => {
    const message = (body: string) => ({ to: 'dev-b', kind: 'status', body })
    const [named, nobody] = [await open({ 'x-relay-agent': 'dev-a' }), await open()]
    await call(named, 'post_message', message('mine'))
    await expect(call(nobody, 'post_message', message('whose?'))).rejects.toThrow(
      /Say your role as "from": pm, dev-a, dev-b\./,
    )
    expect(await read(nobody, 'dev-b')).toMatchObject([{ from: 'dev-a', body: 'mine' }])
    // A look at its mail says the role in any case: what it takes is gone.
    await expect(call(named, 'read_messages', {})).rejects.toThrow(/for/)
  })

  test('an answer says once that something waits', async () => {
    const [pm, dev] = [await open(), await open()]
    await post(dev, 'dev-a', 'pm', 'look')
    const again = async () => {
      const { content } = await pm.callTool({
        name: 'post_message',
        arguments: { from: 'pm', to: 'dev-b', kind: 'free', body: 'x' },
      })
      return (content as { text: string }[])[1]?.text.trim()
    }
    expect(await again()).toBe('1 unread: dev-a. Call read_messages.')
    expect(await again()).toBeUndefined()
  })
})

describe.each(['2025', 'sse'] as const)('a reader over %s that dies before its next call', (era) => {
  test('finds the messages again, and who came back does not', async () => {
    const dev = await world.client(era, {})
    const first = await world.client(era, {})
    await post(dev, 'dev-a', 'pm', 'do not lose me')
    expect(await bodies(first, 'pm')).toEqual(['do not lose me'])
    // While the first one lives, nobody else is given what it holds.
    expect(await bodies(await world.client(era, {}), 'pm')).toEqual([])
    await first.close()
    const second = await world.client(era, {})
    await expect.poll(() => bodies(second, 'pm')).toEqual(['do not lose me'])
    // Its next call: now it is consumed, and stays so.
    await pending(second, 'pm')
    await second.close()
    expect(await bodies(await world.client(era, {}), 'pm')).toEqual([])
  })
})

test('the roles are ordinary agents: who, receipts and search see them', async () => {
  const [pm, dev] = [await world.client('sse', {}), await world.client('2025', {})]
  const watcher = await onSocket()
  const who = async () => (await watcher.call('agent.list', {})).agents.map(({ name }) => name)
  expect(await who()).not.toContain('pm')
  const { id } = await post(dev, 'dev-a', 'pm', 'the parser is done')
  const state = async () => {
    const { receipts } = await watcher.call('message.receipts', { message: id })
    return receipts[0]?.state
  }
  expect(await state()).toBe('stored')
  await read(pm, 'pm')
  expect(await state()).toBe('offered')
  await pending(pm, 'pm')
  expect(await state()).toBe('read')
  expect(await who()).toEqual(expect.arrayContaining(['pm', 'dev-a']))
  // Sessions that only say their role are no agents of their own.
  expect(await who()).not.toContain('test-client')
  const found = await watcher.call('message.search', { text: 'parser' })
  expect(found.messages.map((message) => message.id)).toEqual([id])
})

test('on a relay without roles the tools say where there are some', async () => {
  const plain = await HttpWorld.start({ isOpen: true })
  try {
    const client = await plain.client('2025', {}, { query: 'tools=lift' })
    await expect(read(client, 'pm')).rejects.toThrow(/This relay has no roles\. .*agent-relay lift/)
  } finally {
    await plain.stop()
  }
})
