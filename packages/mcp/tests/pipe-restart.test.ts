// The real daemon is stopped, killed and started again under live pipes: nothing is lost, nothing runs twice, and names stay.

import { join } from 'node:path'
import { type RawPipe, toolText } from '@agent-relay/prove/harness/pipe'
import { RelayClient } from '@agent-relay/sdk'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { isFull, sized } from '../../../test/size.ts'
import { until } from '../../../test/until.ts'
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
/** Its pipe serves it again: how long that takes is no part of these tests. */
const isBack = (client: Client) => until(async () => (await call(client, 'relay_status')).includes('Connected: Yes'))
const countOf = (text: string, part: string) => text.split(part).length - 1

/** A call waits for the next daemon, however slowly it starts. */
const patient = { RELAY_PATIENCE: '20' }

describe.each(signals)('after %s', (signal) => {
  test('the next call succeeds under the same name, and unread mail is still there', async () => {
    const first = await world.client('opencode', patient)
    const second = await world.client('opencode', patient)
    const named = await world.client('opencode', { ...patient, RELAY_AGENT_NAME: 'Ada', RELAY_STRICT_AGENT_NAME: '1' })
    const clients = [first, second, named]
    const names = await Promise.all(clients.map(nameOf))
    expect([...names].sort()).toEqual(['Ada', 'opencode', 'opencode-2'])
    await call(named, 'relay_send', { to: names[1], message: 'kept' })
    await world.restartDaemon(signal)
    expect(await Promise.all(clients.map(nameOf))).toEqual(names)
    expect(await inboxOf(second)).toContain('\nkept')
    if (isFull) await world.restartDaemon(signal)
    expect(await call(first, 'relay_send', { to: 'Ada', message: 'again' })).toMatch(/^Message sent to Ada\b/)
    expect(await inboxOf(named)).toContain('From opencode')
    expect(await inboxOf(second)).toBe('No messages in inbox.')
  })

  test('who only looks around leaves no agent behind, and has the same name with the next daemon', async () => {
    const named = await world.client('opencode', { ...patient, RELAY_AGENT_NAME: 'Ada' })
    const [one, two] = [await world.client('codex', patient), await world.client('codex', patient)]
    const names = [await nameOf(one), await nameOf(two)]
    await call(one, 'relay_who')
    await call(two, 'relay_inbox')
    await world.restartDaemon(signal)
    expect([await nameOf(two), await nameOf(one)]).toEqual(names.toReversed())
    expect(await call(named, 'relay_who')).toContain(`- ${names[1]} (codex)`)
    await call(named, 'relay_send', { to: names[1], message: 'are you there?' })
    for (const client of [one, two]) await client.close()
    const left = async () => (await call(named, 'relay_who', { include_idle: true })).includes('codex')
    await until(async () => !(await left()))
    expect(await call(named, 'relay_send', { to: names[0], message: 'x' })).toContain('Agent not found')
    expect(await call(named, 'relay_send', { to: names[1], message: 'x' })).toContain('Message sent')
  })

  test('subscriptions and push go on', async () => {
    const ada = await world.client('claude-code', { ...patient, RELAY_AGENT_NAME: 'Ada', RELAY_PUSH: 'channel' })
    const bob = new RelayClient({ agentName: 'Bob', socketPath: world.socketPath })
    onTestFinished(() => bob.disconnect())
    const updates: string[] = []
    const pushed: string[] = []
    let lists = 0
    ada.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri))
    ada.setNotificationHandler('notifications/tools/list_changed', () => void lists++)
    ada.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === 'notifications/claude/channel') pushed.push(String(params?.content))
    }
    await ada.subscribeResource({ uri: 'relay://inbox' })
    const { id: message } = await bob.send('Ada', 'one')
    await until(() => updates.length === 1 && pushed.length === 1)
    // A daemon that is killed before it has written that down pushes it once more.
    await until(async () => (await bob.call('message.receipts', { message })).receipts[0]?.state === 'offered')
    await world.restartDaemon(signal)
    await until(() => lists === 1)
    await bob.send('Ada', 'two')
    await until(() => updates.length === 2 && pushed.length === 2)
    expect(pushed).toEqual(['one', 'two'])
    expect(updates).toEqual(['relay://inbox', 'relay://inbox'])
  })
})

test('calls in flight when the daemon is killed run once', async () => {
  const ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada' })
  const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
  // It is killed when so many of the four calls are answered: the others are on their way.
  const moments = sized([1], [1, 0, 2, 3, 1])
  const outcomes: { message: string; text: string }[] = []
  for (const [round, moment] of moments.entries()) {
    let reach = () => {}
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    let answered = 0
    const sends = [0, 1, 2, 3].map(async (n) => {
      const message = `<${round}.${n}>`
      outcomes.push({ message, text: await call(ada, 'relay_send', { to: 'Bob', message }) })
      if (++answered === moment) reach()
    })
    if (moment === 0) setImmediate(reach)
    await reached
    await world.restartDaemon('SIGKILL')
    await Promise.all(sends)
  }
  await isBack(bob)
  const stored = await inboxOf(bob)
  expect(outcomes).toHaveLength(moments.length * 4)
  for (const { message, text } of outcomes) {
    const count = countOf(stored, message)
    if (text.startsWith('Message sent')) expect([message, count]).toEqual([message, 1])
    else if (text.includes('was not carried out')) expect([message, count]).toEqual([message, 0])
    else expect(count).toBeLessThanOrEqual(1)
  }
})

describe('what was handed out', () => {
  // One restart serves all of them: each has an agent and a line of its own, in a world that none of them changes.
  let own: PipeWorld
  let ada: Client
  const lines: Between[] = []
  beforeAll(async () => {
    own = await PipeWorld.start()
    ada = await own.client('claude-code', { RELAY_AGENT_NAME: 'Ada' })
    for (const each of [...unseen, ...seen]) await each.begin()
    for (const { between } of unseen) between.isHiding = true
    await own.stopDaemon()
    for (const { between } of seen) between.isKeeping = false
    // What follows must not hang on how fast a daemon starts: a call waits for five seconds.
    for (const each of seen) each.told = each.id === undefined ? '' : toolText((await each.bob.answer(each.id)).result)
    await own.startDaemon()
    for (const { between } of unseen) {
      between.isKeeping = false
      between.tell()
    }
    await isBack(ada)
  })
  afterAll(async () => {
    for (const line of lines) line.close()
    await own.close()
  })

  /** An agent whose line can be held. `prepare` answers with the id of the call that is open when the daemon is killed. */
  class Held {
    bob = undefined as unknown as RawPipe
    between = undefined as unknown as Between
    id: number | undefined
    told = ''
    readonly #prepare: (held: Held) => Promise<number | undefined>
    readonly name: string

    constructor(name: string, prepare: (held: Held) => Promise<number | undefined>) {
      this.name = name
      this.#prepare = prepare
    }

    async begin(): Promise<void> {
      this.between = await new Between(join(own.root, `${this.name}.sock`), own.socketPath).listen()
      lines.push(this.between)
      this.bob = own.pipe({ RELAY_AGENT_NAME: this.name, RELAY_SOCKET: this.between.path })
      await this.bob.initialize()
      await this.bob.call('relay_status')
      this.id = await this.#prepare(this)
    }

    /** It asks, and Ada has got the question. */
    async asks(message: string): Promise<number> {
      const wait = { await_response: true, timeout_ms: 5 * guardMs }
      const id = this.bob.postCall('relay_send', { to: 'Ada', message, ...wait })
      await until(async () => (await inboxOf(ada)).includes(message))
      return id
    }

    /** It asks for its inbox, and the answer is kept from it. */
    async isAnswered(message: string): Promise<number> {
      await call(ada, 'relay_send', { to: this.name, message })
      this.between.isKeeping = true
      const id = this.bob.postCall('relay_inbox')
      await until(() => this.between.kept.includes(message))
      return id
    }

    /** Its line to the daemon stands again. */
    async inbox(): Promise<string> {
      await until(async () => (await this.bob.call('relay_status')).includes('Connected: Yes'))
      return this.bob.call('relay_inbox')
    }
  }

  /** Their pipes notice that the daemon was gone when the next one is there. */
  const waiting = new Held('Waiting', (held) => held.asks('which branch?'))
  const lost = new Held('Lost', (held) => held.isAnswered('lost once'))
  const unseen = [waiting, lost]

  /** Their pipes notice at once. */
  const never = new Held('Never', (held) => held.isAnswered('twice'))
  const replied = new Held('Replied', async (held) => {
    const id = await held.asks('which tag?')
    held.between.isKeeping = true
    await call(ada, 'relay_send', { to: held.name, message: 'the one called main' })
    await until(() => held.between.kept.includes('called main'))
    return id
  })
  const arrived = new Held('Arrived', async ({ bob, name }) => {
    await call(ada, 'relay_send', { to: name, message: 'once' })
    expect(await bob.call('relay_inbox')).toContain('\nonce')
    return undefined
  })
  const calledOff = new Held('CalledOff', async (held) => {
    const requestId = await held.isAnswered('called off')
    held.bob.say({ method: 'notifications/cancelled', params: { requestId } })
    await until(() => held.between.said.includes('notifications/cancelled'))
    return undefined
  })
  const seen = [never, replied, arrived, calledOff]

  test('to one who waits is waited for across a restart', async () => {
    expect(await inboxOf(ada)).toBe('No messages in inbox.')
    await call(ada, 'relay_send', { to: waiting.name, message: 'main' })
    const { result } = await waiting.bob.answer(waiting.id as number)
    expect(toolText(result)).toMatch(/^Response from Ada: main\nid: m_\w+$/)
  })

  test('and whose answer was lost comes with the answer to the call when it is sent again', async () => {
    const { result } = await lost.bob.answer(lost.id as number)
    expect(toolText(result)).toContain('lost once')
    expect(await lost.inbox()).toBe('No messages in inbox.')
  })

  test('and whose answer the host never got is handed out again', async () => {
    expect(never.told).toContain('may have been carried out')
    expect(await never.inbox()).toContain('\ntwice')
    expect(await never.inbox()).toBe('No messages in inbox.')
  })

  test('as the reply to a call that waited, but never arrived, is handed out again', async () => {
    expect(replied.told).toContain('may have been carried out')
    await replied.bob.call('relay_who')
    expect(await replied.inbox()).toContain('the one called main')
  })

  test('and whose answer arrived before SIGKILL is not', async () => {
    expect(await arrived.inbox()).toBe('No messages in inbox.')
  })

  test('and whose call was called off is handed out again', async () => {
    expect(await calledOff.inbox()).toContain('\ncalled off')
  })
})

test.each(signals.filter((signal) => signal !== 'SIGKILL'))(
  'what was handed out and arrived before %s is not handed out again',
  async (signal) => {
    const ada = await world.client('claude-code', { RELAY_AGENT_NAME: 'Ada' })
    const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
    await nameOf(bob)
    await call(ada, 'relay_send', { to: 'Bob', message: 'once' })
    expect(await inboxOf(bob)).toContain('\nonce')
    await world.restartDaemon(signal)
    await isBack(bob)
    expect(await inboxOf(bob)).toBe('No messages in inbox.')
  },
)

describe('while the daemon stays away', () => {
  test('every request is answered, a ping at once, with the truth, and never carried out later', async () => {
    const ada = world.pipe({ RELAY_AGENT_NAME: 'Ada' })
    const bob = await world.client('codex', { RELAY_AGENT_NAME: 'Bob' })
    await ada.initialize()
    await ada.call('relay_status')
    const wait = { await_response: true, timeout_ms: 5 * guardMs }
    const inFlight = ada.postCall('relay_send', { to: 'Bob', message: 'in flight', ...wait })
    await until(async () => (await call(bob, 'relay_status')).includes('1 unread: Ada'))
    await world.stopDaemon()
    // Once this is answered the pipe has noticed; what it sends into a socket that is just dying, nobody can answer.
    await ada.answer(ada.post('ping'))
    const send = ada.postCall('relay_send', { to: 'Bob', message: 'while away' })
    const status = ada.postCall('relay_status')
    const list = ada.post('tools/list')
    const ping = ada.post('ping')
    ada.write('this is not JSON\n')
    expect((await ada.answer(ping)).result).toEqual({})
    await Promise.all([null, send, status, list, inFlight].map((id) => ada.answer(id)))
    // The others were given time for a daemon to come.
    const order = ada.lines.map(({ id }) => id)
    for (const id of [send, status, list]) expect(order.indexOf(id)).toBeGreaterThan(order.indexOf(ping))
    expect((await ada.answer(null)).error.code).toBe(-32700)
    expect((await ada.answer(send)).result).toEqual({
      content: [
        {
          type: 'text',
          text: 'Error: Relay daemon is not running. Start with: agent-relay daemon start\nThis call was not carried out.',
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
      message: 'Relay daemon is not running. Start with: agent-relay daemon start',
    })
    const flown = toolText((await ada.answer(inFlight)).result)
    expect(flown).toContain('It went away during this call, which may have been carried out')
    await world.startDaemon()
    await until(async () => (await ada.call('relay_status')).includes('Connected: Yes'))
    expect(await ada.call('relay_send', { to: 'Bob', message: 'back again' })).toMatch(/^Message sent to Bob\b/)
    await isBack(bob)
    const inbox = await inboxOf(bob)
    expect(inbox).not.toContain('while away')
    expect(countOf(inbox, 'in flight')).toBe(1)
    expect(countOf(inbox, 'back again')).toBe(1)
    expect(ada.lines.filter(({ id }) => id === inFlight)).toHaveLength(1)
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
