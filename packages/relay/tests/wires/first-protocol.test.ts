// The first protocol on a real socket: its answers, the delivery of mail, and that no message is lost or counted as read too early.

import type { RelayClient } from '@agent-relay/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aWhile, until } from '../../../../test/until.ts'
import { messageHoldMs } from '../../src/core/inbox.ts'
import { helloMs } from '../../src/wires/socket.ts'
import { type FirstClient, FirstWorld } from './first-world.ts'

let world: FirstWorld
let bob: RelayClient
let ann: FirstClient
beforeEach(async () => {
  world = await FirstWorld.start()
  bob = await world.agent('Bob')
  ann = await world.first('Ann')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await world.close()
})

async function receiptOf(message: string): Promise<string | undefined> {
  const { receipts } = await bob.call('message.receipts', { message })
  return receipts[0]?.state
}

describe('answers', () => {
  test('SEND, INBOX, WHO: success and the id of the question, in the payload', async () => {
    expect(await ann.ask('SEND', { to: 'Bob', content: 'hello', thread: 't1' })).toMatchObject({
      frame: 'ACK',
      success: true,
      message: expect.stringMatching(/^m_/),
      away: [],
    })
    expect([...(await bob.getInbox())]).toMatchObject([{ from: 'Ann', content: 'hello', thread: 't1' }])
    expect(await ann.ask('INBOX', {})).toMatchObject({ frame: 'ACK', success: true, messages: [], more: 0 })
    const { success, agents } = await ann.ask('WHO', { include_idle: true })
    expect([success, agents.map(({ name }: { name: string }) => name).sort()]).toEqual([true, ['Ann', 'Bob']])
    expect(agents[0]).toMatchObject({ cli: 'agent', idle: false })
  })

  test('a refused SEND is an ERROR with its message; the others are an ACK that says what failed', async () => {
    const unknown = await ann.ask('SEND', { to: 'Zed', content: 'hello' })
    expect(unknown).toMatchObject({ frame: 'ERROR', message: expect.stringContaining('Agent not found: Zed') })
    const no = { frame: 'ACK', success: false, error: expect.any(String) }
    expect(await ann.ask('INBOX', { channel: '#nowhere' })).toMatchObject({ ...no, code: 'channel.unknown' })
    expect(await ann.ask('WHO', { project: 'nowhere' })).toMatchObject(no)
    expect(await ann.ask('SPAWN', { name: 'W', cli: 'no-such-cli', task: 'x' })).toMatchObject(no)
    expect(await ann.ask('RELEASE', { name: 'W' })).toMatchObject({ ...no, code: 'worker.unknown' })
  })

  test('wrong input is a clear error, and the connection and its mail go on', async () => {
    expect(await ann.ask('SEND')).toMatchObject({ frame: 'ERROR', message: expect.stringContaining('body') })
    expect(await ann.ask('SPAWN')).toMatchObject({ success: false, error: expect.stringContaining('name') })
    for (const payload of ['text', 7, [1], true])
      expect(await ann.ask('WHO', payload)).toMatchObject({ success: false, error: expect.stringContaining('object') })
    expect(await ann.ask('WHO')).toMatchObject({ success: true })
    expect(await ann.ask('INBOX', null)).toMatchObject({ success: true })
    const errors = ann.all('ERROR').length
    ann.raw('{"v":1,"type":"SHOUT","id":"1","ts":0,"payload":{}}\nnonsense\n')
    ann.raw(`${'x'.repeat(12 * 1024 * 1024 + 1)}\n`)
    await until(() => ann.all('ERROR').length === errors + 3)
    for (const { message } of ann.all('ERROR')) expect(message).toMatch(/\w+ \w+/)
    await bob.send('Ann', 'still there?')
    expect(await ann.got('DELIVER')).toMatchObject({ from: 'Bob', content: 'still there?' })
  })
})

describe('mail', () => {
  test('comes flat as it arrives, is offered by that, and read at the next frame', async () => {
    const { id } = await bob.send('Ann', 'direct')
    expect(await ann.got('DELIVER')).toEqual({
      ...{ id, from: 'Bob', to: 'Ann', content: 'direct', thread: null, kind: 'free' },
      ...{ seq: expect.any(Number), ts: expect.any(String) },
    })
    expect(await receiptOf(id)).toBe('offered')
    await bob.send('#general', 'to all', { thread: 't' })
    expect(await ann.got('DELIVER', 1)).toMatchObject({ channel: '#general', thread: 't' })
    expect(await receiptOf(id)).toBe('offered')
    await ann.ask('WHO', {})
    await until(async () => (await receiptOf(id)) === 'read')
  })

  test('an answer to a question comes after it, and what waited before does not', async () => {
    await ann.leave()
    await bob.send('Ann', 'old')
    ann = await world.first('Ann')
    bob.on('message', ({ from, content }) => void bob.send(from, `re: ${content}`))
    await ann.ask('SEND', { to: 'Bob', content: 'now?' })
    expect(await ann.got('DELIVER')).toMatchObject({ from: 'Bob', content: 're: now?' })
    const { messages } = await ann.ask('INBOX', {})
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['old', 're: now?'])
    expect((await ann.ask('INBOX', {})).messages).toEqual([])
    expect(ann.all('DELIVER').length).toBe(1)
  })

  test('that a client has not listened to is in its inbox, whatever it said since', async () => {
    for (const text of ['one', 'two', 'three']) await bob.send('Ann', text)
    await bob.send('#general', 'four')
    await ann.got('DELIVER', 3)
    await ann.ask('SEND', { to: 'Bob', content: 'hi' })
    const contents = async (filter: object) => {
      const { messages, more } = await ann.ask('INBOX', filter)
      return [messages.map(({ content }: { content: string }) => content), more]
    }
    expect(await contents({ from: 'Zed' })).toEqual([[], 0])
    expect(await contents({ channel: 'general' })).toEqual([['four'], 0])
    expect(await contents({ limit: 2, unread_only: true })).toEqual([['one', 'two'], 1])
    expect(await contents({ unread_only: false, limit: 2 })).toEqual([['three', 'four'], 2])
    expect(await contents({})).toEqual([[], 0])
  })

  test('is unread again where the client leaves without another frame', async () => {
    const { id } = await bob.send('Ann', 'hello')
    await ann.got('DELIVER')
    await ann.leave()
    const again = await world.first('Ann')
    expect((await again.ask('INBOX', {})).messages).toMatchObject([{ id, content: 'hello' }])
    expect(await receiptOf(id)).toBe('offered')
    await again.ask('WHO', {})
    await until(async () => (await receiptOf(id)) === 'read')
  })

  test('comes once to a client that listens and says nothing for hours, and is not called read', async () => {
    const { id } = await bob.send('Ann', 'hello')
    await ann.got('DELIVER')
    await world.clock.passes(3 * messageHoldMs)
    await bob.send('Ann', 'again')
    expect(await ann.got('DELIVER', 1)).toMatchObject({ content: 'again' })
    expect(ann.all('DELIVER').length).toBe(2)
    expect(await receiptOf(id)).toBe('offered')
  })

  test('comes by itself only where HELLO says so, and the frames are answered all the same', async () => {
    const cy = await world.first('Cy', { capabilities: ['other'] })
    await bob.send('Cy', 'hello')
    await bob.send('Ann', 'hello')
    await ann.got('DELIVER')
    expect((await cy.ask('INBOX', {})).messages).toMatchObject([{ content: 'hello' }])
    expect(cy.all('DELIVER')).toEqual([])
  })

  test('is not sent twice to a client that asks for its inbox by a CALL', async () => {
    const { id } = await bob.send('Ann', 'one')
    await ann.got('DELIVER')
    ann.write('CALL', 'take', { op: 'inbox.take', input: {} })
    expect((await ann.got('ACK')).messages).toMatchObject([{ id, receipt: 'offered' }])
    expect(await receiptOf(id)).toBe('offered')
    await bob.send('Ann', 'two')
    ann.write('CALL', 'count', { op: 'inbox.count', input: {} })
    expect(await ann.got('ACK', 1)).toMatchObject({ total: 1 })
    expect(ann.all('DELIVER').length).toBe(1)
  })

  test('of an inbox that is long comes in order and once', async () => {
    const count = 300
    for (let i = 0; i < count; i++) await bob.send('#general', `${i}`)
    await ann.got('DELIVER', count - 1)
    expect(ann.all('DELIVER').map(({ content }) => content)).toEqual(Array.from({ length: count }, (_, i) => `${i}`))
  })
})

describe('hello', () => {
  test('what comes right behind it waits for the welcome; the same HELLO twice is answered twice', async () => {
    const cy = await world.silent()
    for (const id of ['1', '2']) cy.write('HELLO', id, { name: 'Cy', capabilities: ['mcp'] })
    expect(await cy.ask('SEND', { to: 'Bob', content: 'at once' })).toMatchObject({ success: true })
    expect(cy.all('WELCOME').map(({ agent }) => agent)).toEqual(['Cy', 'Cy'])
    await bob.send('Cy', 'hello')
    await cy.got('DELIVER')
    await aWhile()
    expect(cy.all('DELIVER').length).toBe(1)
    cy.write('HELLO', '3', { name: 'Dee' })
    await until(() => cy.isClosed)
    expect(cy.all('BYE')[0].refusal.message).toContain('HELLO comes once')
  })

  test('a second connection that says nothing stays, and half a HELLO does not', async () => {
    const after = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) =>
      after(work, ms === helloMs ? 50 : ms)) as typeof setTimeout)
    const silent = await world.silent()
    const half = await world.silent()
    half.raw('{"v":1,')
    await until(() => half.isClosed)
    await aWhile()
    expect(silent.isClosed).toBe(false)
    silent.write('HELLO', 'h', { name: 'Cy' })
    expect(await silent.got('WELCOME')).toMatchObject({ agent: 'Cy' })
  })

  test('of many silent connections most are ended', async () => {
    const after = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms = 0) =>
      after(work, ms === helloMs ? 50 : ms)) as typeof setTimeout)
    const all = await Promise.all(Array.from({ length: 100 }, () => world.silent()))
    await until(() => all.filter(({ isClosed }) => isClosed).length === 36)
    await aWhile()
    expect(all.filter(({ isClosed }) => isClosed).length).toBe(36)
  })
})
