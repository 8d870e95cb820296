// The first document's own client and server on a running relay. They are beside this file when it runs: scripts/test-seeds.mjs puts
// it into the package that it makes of the document. No text of the document is here.

import { once } from 'node:events'
import { RelayClient as Today } from '@agent-relay/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RelayClient } from '../src/client.ts'

let peer
beforeAll(async () => {
  peer = new Today({ agentName: 'Peer', autoConnect: false })
  await peer.connect()
  peer.on('message', ({ from, content, thread }) => {
    if (content.startsWith('ask')) void peer.send(from, `re: ${content}`, { thread })
  })
})
afterAll(() => peer?.disconnect())

const stateOf = async (message) => (await peer.call('message.receipts', { message })).receipts[0].state

describe('its client', () => {
  let client
  beforeAll(async () => {
    client = new RelayClient({ agentName: 'Seed', autoConnect: false })
    await client.connect()
  })
  afterAll(() => client.disconnect())

  test('waits for answers, with a thread and without, and not for what came before', async () => {
    for (const options of [{}, { thread: 't1' }, { timeoutMs: 20_000 }])
      expect(await client.sendAndWait('Peer', 'ask 1', options)).toMatchObject({ from: 'Peer', content: 're: ask 1' })
    await expect(client.sendAndWait('Peer', 'nothing', { timeoutMs: 300 })).rejects.toThrow(/Timeout/)
  })

  test('hears of mail, which is read at its next frame; the inbox has it as well', async () => {
    await client.getInbox({ limit: 100 })
    const heard = once(client, 'message')
    const { id } = await peer.send('Seed', 'news')
    expect((await heard)[0]).toMatchObject({ id, from: 'Peer', content: 'news' })
    expect(await stateOf(id)).toBe('offered')
    expect((await client.listAgents({ include_idle: true })).map(({ name }) => name)).toContain('Peer')
    await expect.poll(() => stateOf(id)).toBe('read')
    expect(await client.getInbox({ unread_only: true })).toMatchObject([{ id, content: 'news' }])
    expect(await client.getInbox()).toEqual([])
  })

  test('is told what was refused: a send as an error event, the others in their answers', async () => {
    const refused = new Promise((resolve) => client.once('error', resolve))
    await client.send('nobody-of-this-name', 'hello')
    expect((await refused).message).toContain('Agent not found: nobody-of-this-name')
    const no = { success: false, error: expect.stringMatching(/\w/) }
    expect(await client.spawn({ name: 'W', cli: 'no-such-cli', task: 'x' })).toEqual(no)
    expect(await client.release('no-such-worker')).toEqual(no)
    expect(await client.getInbox({ channel: '#nowhere' })).toEqual([])
    expect(await client.getStatus()).toMatchObject({ connected: true, agentName: 'Seed', project: 'seeds' })
  })

  test('that was made without a name connects by itself, and twice does no harm', async () => {
    const other = new RelayClient()
    await other.connect()
    expect(await other.sendAndWait('Peer', 'ask 2')).toMatchObject({ content: 're: ask 2' })
    const { agents } = await peer.call('agent.list', {})
    expect(agents.map(({ name }) => name).filter((name) => name.startsWith('mcp-'))).toEqual([`mcp-${process.pid}`])
    other.disconnect()
  })
})

describe('its server', () => {
  let host
  const call = async (name, args) => (await host.callTool({ name, arguments: args })).content[0].text
  beforeAll(async () => {
    host = new Client({ name: 'test', version: '1' })
    const command = { command: process.execPath, args: ['dist/bin.js', 'serve'], env: { ...process.env } }
    await host.connect(new StdioClientTransport(command))
  })
  afterAll(() => host.close())

  test('lists and reads', async () => {
    expect((await host.listTools()).tools.map(({ name }) => name)).toHaveLength(6)
    expect((await host.listPrompts()).prompts).toHaveLength(1)
    for (const { uri } of (await host.listResources()).resources)
      expect(JSON.parse((await host.readResource({ uri })).contents[0].text)).toBeTruthy()
  })

  test('sends, waits, and finds in its inbox what came meanwhile, whatever it asked before', async () => {
    expect(await call('relay_send', { to: 'Peer', message: 'hello' })).toBe('Message sent to Peer')
    const asking = { to: 'Peer', message: 'ask 3', await_response: true }
    expect(await call('relay_send', asking)).toBe('Response from Peer: re: ask 3')
    const name = /Agent Name: (\S+)/.exec(await call('relay_status', {}))[1]
    await call('relay_inbox', { limit: 100 })
    await peer.send(name, 'for the model')
    expect(await call('relay_who', {})).toContain(`- ${name} (`)
    expect(await call('relay_inbox', {})).toMatch(/^1 message\(s\):\n\n\[m_\w+\] From Peer:\nfor the model$/)
    expect(await call('relay_inbox', {})).toBe('No messages in inbox.')
  })

  test('goes on after the time in which a connection must introduce itself', async () => {
    await new Promise((resolve) => setTimeout(resolve, 6_000))
    expect(await call('relay_send', { to: 'Peer', message: 'still here' })).toBe('Message sent to Peer')
    expect(await call('relay_release', { name: 'no-such-worker' })).toMatch(/^Failed to release worker: \w/)
  })
})
