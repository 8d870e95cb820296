// RelayClient over a real socket against a scripted peer: calls, inbox, status, refusals. Lost links are in reconnect.test.ts.

import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { guardMs } from '../../../test/guard.ts'
import { aWhile, until } from '../../../test/until.ts'
import { uptimeText } from '../src/client/shapes.ts'
import {
  AgentNotFoundError,
  type ReceivedMessage,
  RelayClient,
  type RelayClientOptions,
  TimeoutError,
} from '../src/index.ts'
import { limits } from '../src/protocol/limits.ts'
import { type Asked, message, Peer, type Scratch, scratch } from './peer.ts'

let place: Scratch
let peer: Peer
let clients: RelayClient[]

beforeEach(async () => {
  place = scratch()
  clients = []
  peer = await new Peer(join(place.directory, 'd.sock')).listen()
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.disconnect()))
  await peer.stop()
  place.remove()
})

function client(options: RelayClientOptions = {}): RelayClient {
  const made = new RelayClient({ agentName: 'ada', socketPath: peer.path, limits: { readBatchMs: 5 }, ...options })
  clients.push(made)
  return made
}

describe('connecting', () => {
  it('sends HELLO at once, with everything it was told', async () => {
    const ada = client({
      agentType: 'human',
      cli: 'claude',
      model: 'm',
      key: 'k',
      role: 'lead',
      channels: ['#dev'],
      strictName: true,
    })
    const ready = await new Promise((resolve) => ada.on('ready', resolve))
    expect(ready).toMatchObject({ workspace: 'shop', agent: 'ada', session: 's_1' })
    expect(peer.last.hello).toEqual({
      cwd: process.cwd(),
      name: 'ada',
      type: 'human',
      cli: 'claude',
      model: 'm',
      key: 'k',
      role: 'lead',
      channels: ['#dev'],
      strict: true,
    })
    expect(ada).toMatchObject({ connected: true, agentName: 'ada', token: 'token-of-ada' })
  })

  it('without autoConnect it connects at the first call, and once for many callers', async () => {
    const ada = client({ autoConnect: false })
    // One that connects by itself was made later, and is there.
    client({ agentName: 'eve' })
    await until(() => peer.sessions.length > 0)
    expect(peer.sessions.map(({ hello }) => hello?.name)).toEqual(['eve'])
    await Promise.all([ada.connect(), ada.connect(), ada.call('workspace.status', {})])
    await ada.connect()
    expect(peer.sessions.map(({ hello }) => hello?.name)).toEqual(['eve', 'ada'])
  })

  it('tells once that it was given another name than it asked for', async () => {
    peer.nameFor = (asked) => (asked === 'ada' ? 'ada-2' : asked)
    const renamed: unknown[] = []
    const ada = client({ autoConnect: false, onRenamed: (name) => renamed.push(name), limits: { backoffMsMin: 1 } })
    await ada.connect()
    expect([ada.agentName, renamed]).toEqual(['ada-2', [{ asked: 'ada', name: 'ada-2' }]])
    // It comes back as who it is.
    peer.cutAll()
    await until(() => peer.sessions.length === 2 && ada.connected)
    expect([peer.last.hello?.name, renamed.length]).toEqual(['ada-2', 1])
  })

  it('warns of another name where nobody handles it', async () => {
    peer.nameFor = () => 'ada-2'
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    await client({ autoConnect: false }).connect()
    const ours = () => warnings.find((warning) => 'code' in warning && warning.code === 'AGENT_RELAY_RENAMED')
    await until(ours).finally(() => process.off('warning', note))
    expect(ours()).toMatchObject({
      name: 'AgentRelayWarning',
      message: expect.stringMatching(/^The name "ada" is taken: this connection acts as "ada-2"\..*strictName/),
    })
  })

  it('rejects connect when the name is refused, ends what waited, and does not come back by itself', async () => {
    peer.onHello = () => 'agent.name-taken'
    const ada = client({ autoConnect: false, strictName: true, limits: { backoffMsMin: 1 } })
    const sent = ada.send('bob', 'hi')
    await expect(ada.connect()).rejects.toMatchObject({
      code: 'agent.name-taken',
      message: expect.stringContaining('"ada"'),
    })
    await expect(sent).rejects.toMatchObject({ code: 'agent.name-taken' })
    await aWhile()
    expect(peer.sessions).toHaveLength(1)
    peer.onHello = () => 'welcome'
    peer.onCall = (asked) => asked.answer({ id: 'm_1' })
    await expect(ada.send('bob', 'hi')).resolves.toEqual({ id: 'm_1' })
  })

  it('reports that no daemon listens as an error event or a rejection, never as an unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const nowhere = { socketPath: join(place.directory, 'none.sock') }
    client(nowhere)
    const heard = client(nowhere)
    const error = await new Promise((resolve) => heard.on('error', resolve))
    expect(error).toMatchObject({ name: 'DaemonNotRunningError' })
    await expect(heard.send('bob', 'hi')).rejects.toThrow(
      'Relay daemon is not running. Start with: agent-relay daemon start',
    )
    await expect(heard.getStatus()).resolves.toMatchObject({ connected: false, agentName: 'ada', project: 'unknown' })
    const watch = heard.watch({}, () => {})
    await expect(watch.ready).rejects.toThrow('not running')
    await aWhile()
    expect(unhandled).toEqual([])
  })

  it('answers a ping, and ignores what it does not know', async () => {
    const ada = client()
    await ada.connect()
    peer.last.say('ACK', 'nobody-asked', {})
    peer.last.say('EVENT', 'x', { watch: 'none', item: {} })
    peer.last.say('PING', 'p1', {})
    await until(() => peer.last.received.some(({ type, id }) => type === 'PONG' && id === 'p1'))
  })
})

describe('calls', () => {
  it('come back by id, in any order', async () => {
    const ada = client()
    peer.onCall = () => {}
    const all = Promise.all([ada.send('bob', 'one'), ada.send('bob', 'two'), ada.send('bob', 'three')])
    await until(() => peer.asked.length === 3)
    expect(peer.asked.map(({ input }) => input.body)).toEqual(['one', 'two', 'three'])
    for (const asked of [...peer.asked].reverse()) asked.answer({ id: `m_${asked.input.body}` })
    expect(await all).toEqual([{ id: 'm_one' }, { id: 'm_two' }, { id: 'm_three' }])
  })

  it('carry the id, thread, kind and replyTo they were given', async () => {
    const ada = client()
    await ada.send(['bob', 'eve'], 'hi', { id: 'mine', thread: 't', kind: 'question', replyTo: 'm_0' })
    expect(peer.asked[0]).toMatchObject({
      id: 'mine',
      op: 'message.send',
      input: { to: ['bob', 'eve'], body: 'hi', thread: 't', kind: 'question', replyTo: 'm_0' },
    })
  })

  it('reject with the class of their refusal', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.refuse('agent.unknown', { name: 'bbo', nearest: ['bob'] })
    const refused = ada.send('bbo', 'hi')
    await expect(refused).rejects.toBeInstanceOf(AgentNotFoundError)
    await expect(refused).rejects.toThrow('Agent not found: bbo. Did you mean bob?')
  })

  it('that are longer than a line are not sent, and do not affect others', async () => {
    const ada = client()
    await expect(ada.send('bob', 'x'.repeat(limits.lineBytesMax))).rejects.toMatchObject({ code: 'frame.too-large' })
    expect(peer.asked).toHaveLength(0)
    await ada.send('bob', 'short')
    expect(peer.sessions).toHaveLength(1)
  })

  it('can be given up', async () => {
    const ada = client()
    peer.onCall = () => {}
    const given = new AbortController()
    const sent = ada.call('message.send', { to: 'bob', body: 'x' }, { signal: given.signal })
    await until(() => peer.asked.length === 1)
    given.abort(new Error('enough'))
    await expect(sent).rejects.toThrow('enough')
    await expect(ada.call('workspace.status', {}, { signal: given.signal })).rejects.toThrow('enough')
  })

  it('under one id share one answer', async () => {
    const ada = client()
    const answers = await Promise.all([ada.send('bob', 'x', { id: 'same' }), ada.send('bob', 'x', { id: 'same' })])
    expect(answers[0]).toEqual(answers[1])
    expect(peer.asked).toHaveLength(1)
  })
})

describe('sendAndWait', () => {
  it('resolves with the reply, which counts as shown and is marked read', async () => {
    const ada = client()
    peer.onCall = (asked) => {
      if (asked.op === 'message.send') asked.answer({ id: 'm_1', reply: message('m_2', 'done!') })
      else if (asked.op === 'inbox.take') asked.answer({ messages: [message('m_2', 'done!')], more: 0 })
      else asked.answer({ read: 1 })
    }
    const given = guardMs
    await expect(ada.sendAndWait('bob', 'work', { timeoutMs: given })).resolves.toMatchObject({
      from: 'bob',
      content: 'done!',
    })
    const { timeoutMs } = (peer.asked[0] as Asked).input.wait
    expect(timeoutMs).toBeGreaterThan(0)
    expect(timeoutMs).toBeLessThanOrEqual(given)
    await until(() => peer.of('inbox.read').length === 1)
    expect(peer.of('inbox.read')[0]?.input).toEqual({ messages: ['m_2'] })
    await expect(ada.getInbox()).resolves.toHaveLength(0)
  })

  it('rejects with TimeoutError', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.refuse('wait.timeout', { to: 'bob', ms: 50, message: 'm_1' })
    await expect(ada.sendAndWait('bob', 'work', { timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError)
  })
})

describe('inbox', () => {
  it('is taken with content beside body, and says how many more wait', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.answer({ messages: [message('m_1', 'hello')], more: 3 })
    const page = await ada.getInbox({ limit: 1, unread_only: true, from: 'bob' })
    expect(page).toHaveLength(1)
    expect(page[0]).toMatchObject({ id: 'm_1', body: 'hello', content: 'hello' })
    expect(page.more).toBe(3)
    expect(peer.asked[0]).toMatchObject({ op: 'inbox.take', input: { limit: 1, unreadOnly: true, from: 'bob' } })
  })

  it('can be peeked at any number of times without effect', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.answer({ messages: [message('m_1')], more: 0 })
    await ada.getInbox({ peek: true })
    expect(await ada.getInbox({ peek: true })).toHaveLength(1)
    expect(peer.asked.map(({ op }) => op)).toEqual(['inbox.peek', 'inbox.peek'])
    expect(await ada.getInbox()).toHaveLength(1)
  })

  it('hides and marks a repeat, looks behind a page of repeats, and shows all when all is asked for', async () => {
    const ada = client()
    const pages = [
      { messages: [message('m_1'), message('m_2')], more: 0 },
      { messages: [message('m_1'), message('m_2')], more: 1 },
      { messages: [message('m_3')], more: 0 },
      { messages: [message('m_1'), message('m_3')], more: 0 },
    ]
    peer.onCall = (asked) => asked.answer(asked.op === 'inbox.take' ? pages.shift() : { read: 2 })
    expect(await ada.getInbox()).toHaveLength(2)
    expect((await ada.getInbox()).map(({ id }) => id)).toEqual(['m_3'])
    await until(() => peer.of('inbox.read').length > 0)
    expect(peer.of('inbox.read').flatMap(({ input }) => input.messages)).toEqual(['m_1', 'm_2'])
    expect(await ada.getInbox({ unreadOnly: false })).toHaveLength(2)
  })

  it('comes as events while somebody listens: each once, marked read together', async () => {
    const ada = client({ limits: { readBatchMs: 500 } })
    const got: ReceivedMessage[] = []
    ada.on('message', (one) => got.push(one))
    await until(() => peer.of('inbox.follow').length === 1)
    const { id, session } = peer.of('inbox.follow')[0] as Asked
    for (const n of [1, 2, 3, 2]) session.say('DELIVER', 'x', { watch: id, item: message(`m_${n}`) })
    await until(() => peer.of('inbox.read').length > 0)
    expect(got.map((one) => one.content)).toEqual(['body of m_1', 'body of m_2', 'body of m_3'])
    expect(new Set(peer.of('inbox.read').flatMap(({ input }) => input.messages))).toEqual(
      new Set(['m_1', 'm_2', 'm_3']),
    )
    expect(peer.of('inbox.read').length).toBeLessThan(3)
  })

  it('can be listened to one message at a time', async () => {
    const ada = client()
    const next = (): Promise<string> => new Promise((resolve) => ada.once('message', ({ id }) => resolve(id)))
    const first = next()
    await until(() => peer.of('inbox.follow').length === 1)
    const { id, session } = peer.of('inbox.follow')[0] as Asked
    for (const n of [1, 2, 3]) session.say('DELIVER', 'x', { watch: id, item: message(`m_${n}`) })
    expect([await first, await next(), await next()]).toEqual(['m_1', 'm_2', 'm_3'])
    expect(peer.of('inbox.follow')).toHaveLength(1)
  })

  it('is no longer followed when nobody listens, and no message is marked read unseen', async () => {
    const ada = client({ limits: { readBatchMs: 1, followGraceMs: 20 } })
    const got: string[] = []
    ada.once('message', ({ id }) => got.push(id))
    await until(() => peer.of('inbox.follow').length === 1)
    const { id, session } = peer.of('inbox.follow')[0] as Asked
    for (const n of [1, 2]) session.say('DELIVER', 'x', { watch: id, item: message(`m_${n}`) })
    await until(() => session.received.some(({ type }) => type === 'BYE'))
    await until(() => peer.of('inbox.read').length === 1)
    expect(got).toEqual(['m_1'])
    expect(peer.of('inbox.read')[0]?.input).toEqual({ messages: ['m_1'] })
    ada.once('message', (later) => got.push(later.id))
    await until(() => peer.of('inbox.follow').length === 2)
    session.say('DELIVER', 'x', { watch: peer.of('inbox.follow')[1]?.id, item: message('m_2') })
    await until(() => got.length === 2)
    expect(got).toEqual(['m_1', 'm_2'])
  })

  it('is marked by message, by many and by thread', async () => {
    const ada = client()
    peer.onCall = (asked) => asked.answer({ read: asked.input.messages?.length ?? 7 })
    expect(await ada.markRead('m_1')).toBe(1)
    expect(await ada.markRead(Array.from({ length: 1_200 }, (_, n) => `m_${n}`))).toBe(1_200)
    expect(await ada.markRead({ thread: 't' })).toBe(7)
    expect(peer.asked.map(({ input }) => input.messages?.length)).toEqual([1, 500, 500, 200, undefined])
  })
})

describe('questions', () => {
  it('lists agents with idle', async () => {
    const ada = client()
    const one = { id: 'a_1', name: 'bob', type: 'agent', status: 'idle', unread: 0 }
    peer.onCall = (asked) => asked.answer({ agents: [one, { ...one, status: 'active' }] })
    expect((await ada.listAgents({ include_idle: true, project: 'shop' })).map(({ idle }) => idle)).toEqual([
      true,
      false,
    ])
    expect(peer.asked[0]?.input).toEqual({ includeIdle: true, project: 'shop' })
  })

  it('tells the status with and without a connection', async () => {
    const ada = client()
    peer.onCall = (asked) =>
      asked.answer({ workspace: 'shop', socketPath: peer.path, daemonVersion: '0.1.0', uptimeMs: 7_500_000 })
    expect(await ada.getStatus()).toMatchObject({
      connected: true,
      agentName: 'ada',
      project: 'shop',
      socketPath: peer.path,
      daemonVersion: '0.1.0',
      uptime: '2h 5m',
    })
    await ada.disconnect()
    expect(await ada.getStatus()).toMatchObject({
      connected: false,
      agentName: 'ada',
      project: 'shop',
      socketPath: peer.path,
    })
  })

  it.each([
    [0, '0s'],
    [59_999, '59s'],
    [309_000, '5m 9s'],
    [3_600_000, '1h'],
    [7_500_000, '2h 5m'],
    [273_600_000, '3d 4h'],
  ])('writes %d ms as %s', (ms, text) => expect(uptimeText(ms)).toBe(text))
})
