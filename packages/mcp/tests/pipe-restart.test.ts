// The real daemon is stopped, killed and started again under live pipes: nothing is lost, nothing runs twice, and names stay.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sized } from '../../../test/size.ts'
import { isWithin, until } from '../../../test/until.ts'
import { textOf } from '../../relay/src/prove/harness/pipe.ts'
import { Between } from './pipe-between.ts'
import { call, PipeWorld } from './pipe-world.ts'

let world: PipeWorld
beforeAll(async () => {
  world = await PipeWorld.start()
})
afterEach(() => world.renew())
afterAll(() => world.close())

const signals = sized(['SIGKILL'], ['SIGTERM', 'SIGKILL']) as ('SIGTERM' | 'SIGKILL')[]

const nameOf = async (client: Client) => /Agent Name: (.*)/.exec(await call(client, 'relay_status'))?.[1]
/** All unread messages of an agent, in one text. */
const inboxOf = (client: Client) => call(client, 'relay_inbox', { limit: 100 })
const countOf = (text: string, part: string) => text.split(part).length - 1

describe.each(signals)('after %s', (signal) => {
  test('the next call succeeds under the same name, and unread mail is still there', async () => {
    const first = await world.client('opencode')
    const second = await world.client('opencode')
    const named = await world.client('opencode', { RELAY_AGENT_NAME: 'Ada', RELAY_STRICT_AGENT_NAME: '1' })
    const clients = [first, second, named]
    const names = await Promise.all(clients.map(nameOf))
    expect([...names].sort()).toEqual(['Ada', 'opencode', 'opencode-2'])
    await call(named, 'relay_send', { to: names[1], message: 'kept' })
    await world.restartDaemon(signal)
    expect(await Promise.all(clients.map(nameOf))).toEqual(names)
    expect(await inboxOf(second)).toContain('  kept')
    await world.restartDaemon(signal)
    expect(await call(first, 'relay_send', { to: 'Ada', message: 'again' })).toMatch(/^Message sent to Ada\b/)
    expect(await inboxOf(named)).toContain('From opencode')
    expect(await inboxOf(second)).toBe('No messages in inbox.')
  })

  test('subscriptions and push go on', async () => {
    const ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada', RELAY_PUSH: 'channel' })
    const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
    const updates: string[] = []
    const pushed: string[] = []
    let lists = 0
    ada.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri))
    ada.setNotificationHandler('notifications/tools/list_changed', () => void lists++)
    ada.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === 'notifications/claude/channel') pushed.push(String(params?.content))
    }
    await ada.subscribeResource({ uri: 'relay://inbox' })
    await call(bob, 'relay_send', { to: 'Ada', message: 'one' })
    await until(() => updates.length === 1 && pushed.length === 1)
    await world.restartDaemon(signal)
    await until(() => lists === 1)
    await call(bob, 'relay_send', { to: 'Ada', message: 'two' })
    await until(() => updates.length === 2 && pushed.length === 2)
    expect(pushed).toEqual(['one', 'two'])
    expect(updates).toEqual(['relay://inbox', 'relay://inbox'])
  })
})

test('calls in flight when the daemon is killed run once', async () => {
  const ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada' })
  const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
  const rounds = sized(2, 5)
  const outcomes: { message: string; text: string }[] = []
  for (let round = 0; round < rounds; round++) {
    const sends = [0, 1, 2, 3].map(async (n) => {
      await sleep(n * 2)
      const message = `<${round}.${n}>`
      outcomes.push({ message, text: await call(ada, 'relay_send', { to: 'Bob', message }) })
    })
    await sleep(3 + round)
    await world.restartDaemon('SIGKILL')
    await Promise.all(sends)
  }
  const stored = await inboxOf(bob)
  expect(outcomes).toHaveLength(rounds * 4)
  for (const { message, text } of outcomes) {
    const count = countOf(stored, message)
    if (text.startsWith('Message sent')) expect([message, count]).toEqual([message, 1])
    else if (text.includes('was not carried out')) expect([message, count]).toEqual([message, 0])
    else expect(count).toBeLessThanOrEqual(1)
  }
})

describe('what was handed out', () => {
  let between: Between
  let ada: Client
  beforeEach(async () => {
    between = await new Between(join(world.root, 'between.sock'), world.socketPath).listen()
    ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada' })
  })
  afterEach(() => between.close())

  const bobBetween = async () => {
    const bob = world.pipe({ RELAY_AGENT_NAME: 'Bob', RELAY_SOCKET: between.path })
    await bob.initialize()
    await bob.call('relay_status')
    return bob
  }

  /** What follows must not hang on how fast a daemon starts: a call waits for one and a half seconds. */
  const restartUnseen = async () => {
    between.isHiding = true
    await world.restartDaemon()
    between.isKeeping = false
    between.tell()
  }

  test('to one who waits is waited for across a restart', async () => {
    const bob = await bobBetween()
    const id = bob.postCall('relay_send', { to: 'Ada', message: 'which branch?', await_response: true })
    let inbox = ''
    while (!inbox.includes('which branch?')) inbox = await inboxOf(ada)
    await restartUnseen()
    expect(await inboxOf(ada)).toBe('No messages in inbox.')
    await call(ada, 'relay_send', { to: 'Bob', message: 'main' })
    expect(textOf((await bob.answer(id)).result)).toMatch(/^Response from Ada: main\nid: m_\w+$/)
  })

  test('and whose answer was lost comes with the answer to the call when it is sent again', async () => {
    const bob = await bobBetween()
    await call(ada, 'relay_send', { to: 'Bob', message: 'lost once' })
    between.isKeeping = true
    const id = bob.postCall('relay_inbox')
    await until(() => between.kept.includes('lost once'))
    await restartUnseen()
    expect(textOf((await bob.answer(id)).result)).toContain('lost once')
    expect(await bob.call('relay_inbox')).toBe('No messages in inbox.')
  })

  test('and whose answer the host never got is handed out again', async () => {
    const bob = await bobBetween()
    await call(ada, 'relay_send', { to: 'Bob', message: 'twice' })
    between.isKeeping = true
    const id = bob.postCall('relay_inbox')
    await until(() => between.kept.includes('twice'))
    await world.stopDaemon()
    between.isKeeping = false
    expect(textOf((await bob.answer(id)).result)).toContain('may have been carried out')
    await world.startDaemon()
    expect(await bob.call('relay_inbox')).toContain('  twice')
    expect(await bob.call('relay_inbox')).toBe('No messages in inbox.')
  })

  test('as the reply to a call that waited, but never arrived, is handed out again', async () => {
    const bob = await bobBetween()
    const id = bob.postCall('relay_send', { to: 'Ada', message: 'which branch?', await_response: true })
    let inbox = ''
    while (!inbox.includes('which branch?')) inbox = await inboxOf(ada)
    between.isKeeping = true
    await call(ada, 'relay_send', { to: 'Bob', message: 'the one called main' })
    await until(() => between.kept.includes('called main'))
    await world.stopDaemon()
    between.isKeeping = false
    expect(textOf((await bob.answer(id)).result)).toContain('may have been carried out')
    await world.startDaemon()
    await bob.call('relay_who')
    expect(await bob.call('relay_inbox')).toContain('the one called main')
  })

  test.each(signals)('and whose answer arrived before %s is not', async (signal) => {
    const bob = await bobBetween()
    await call(ada, 'relay_send', { to: 'Bob', message: 'once' })
    expect(await bob.call('relay_inbox')).toContain('  once')
    await world.restartDaemon(signal)
    expect(await bob.call('relay_inbox')).toBe('No messages in inbox.')
  })

  test('and whose call was called off is handed out again', async () => {
    const bob = await bobBetween()
    await call(ada, 'relay_send', { to: 'Bob', message: 'called off' })
    between.isKeeping = true
    const requestId = bob.postCall('relay_inbox')
    await until(() => between.kept.includes('called off'))
    bob.say({ method: 'notifications/cancelled', params: { requestId } })
    await until(() => between.said.includes('notifications/cancelled'))
    await world.stopDaemon()
    between.isKeeping = false
    await world.startDaemon()
    expect(await bob.call('relay_inbox')).toContain('  called off')
  })
})

describe('while the daemon stays away', () => {
  test('every request is answered within two seconds, with the truth, and never carried out later', async () => {
    const ada = world.pipe({ RELAY_AGENT_NAME: 'Ada' })
    const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
    await ada.initialize()
    await ada.call('relay_status')
    const inFlight = ada.postCall('relay_send', { to: 'Bob', message: 'in flight', await_response: true })
    await until(async () => (await call(bob, 'relay_status')).includes('1 unread: Ada'))
    await world.stopDaemon()
    // Once this is answered the pipe has noticed; what it sends into a socket that is just dying, nobody can answer.
    await ada.answer(ada.post('ping'))
    const send = ada.postCall('relay_send', { to: 'Bob', message: 'while away' })
    const status = ada.postCall('relay_status')
    const list = ada.post('tools/list')
    const ping = ada.post('ping')
    ada.write('this is not JSON\n')
    const all = Promise.all([null, send, status, list, inFlight].map((id) => ada.answer(id)))
    const isAllInTime = isWithin(2_000, all)
    expect(await isWithin(500, ada.answer(ping))).toBe(true)
    expect((await ada.answer(ping)).result).toEqual({})
    expect(await isAllInTime).toBe(true)
    expect((await ada.answer(null)).error.code).toBe(-32700)
    expect((await ada.answer(send)).result).toEqual({
      content: [
        {
          type: 'text',
          text: 'Error: Relay daemon is not running. Start it with: agent-relay daemon start\nThis call was not carried out.',
        },
      ],
      isError: true,
    })
    expect((await ada.answer(status)).result).toEqual({
      content: [
        {
          type: 'text',
          text: `Relay Status:\n- Connected: No\n- Agent Name: Ada\n- Project: ${world.project}\n- Socket: ${world.socketPath}\n- Daemon Version: Unknown\n- Uptime: N/A`,
        },
      ],
    })
    expect((await ada.answer(list)).error).toEqual({
      code: -32000,
      message: 'Relay daemon is not running. Start it with: agent-relay daemon start',
    })
    const flown = textOf((await ada.answer(inFlight)).result)
    expect(flown).toContain('It went away during this call, which may have been carried out')
    await world.startDaemon()
    expect(await ada.call('relay_send', { to: 'Bob', message: 'back again' })).toMatch(/^Message sent to Bob\b/)
    const inbox = await inboxOf(bob)
    expect(inbox).not.toContain('while away')
    expect(countOf(inbox, 'in flight')).toBe(1)
    expect(countOf(inbox, 'back again')).toBe(1)
    expect(ada.lines.filter(({ id }) => id === inFlight)).toHaveLength(1)
  })

  test('a host can leave', async () => {
    const pipe = world.pipe()
    await pipe.initialize()
    await world.stopDaemon()
    pipe.postCall('relay_who')
    pipe.child.stdin?.end()
    expect((await pipe.ended).code).toBe(0)
  })
})

test('stdio speaks the 2025 era only, and says what is wrong with a line', async () => {
  const pipe = world.pipe()
  expect((await pipe.ask('server/discover')).error.code).toBe(-32601)
  pipe.write('{"jsonrpc":"2.0","id":\n[{"jsonrpc":"2.0","id":5,"method":"ping"}]\n')
  await until(() => pipe.lines.filter(({ id }) => id === null).length === 2)
  expect(pipe.lines.filter(({ id }) => id === null).map(({ error }) => error.code)).toEqual([-32700, -32600])
  await pipe.initialize()
  expect(await pipe.call('relay_status')).toContain('Connected: Yes')
})
