// The engine: one commit for all commands that arrive together, answers only after it, no command failed by another, times from the clock.

import { type Entry, makeIds } from '@agent-relay/sdk/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import type { CommandReply, Engine } from '../../src/broker/engine.ts'
import { EntryHub } from '../../src/broker/hub.ts'
import { LocalEngine } from '../../src/broker/local-engine.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { Store } from '../../src/store/store.ts'

let store: Store
let engine: Engine
let now: number
let told: Entry[][]
let fatal: Error[]
let troubles: Error[]
let hub: EntryHub
let calls = 0

function engineOn(path: string): Engine {
  store = new Store(path)
  troubles = []
  hub = new EntryHub((error) => troubles.push(error))
  told = []
  fatal = []
  hub.listen((entries) => told.push(entries))
  return new LocalEngine({
    store,
    hub,
    clock: { now: () => now, steady: () => 0, after: () => ({ cancel: () => {} }) },
    ids: makeIds(() => now),
    world: { isLive: () => false, liveSession: () => undefined },
    onFatal: (error) => fatal.push(error),
  })
}

beforeEach(async () => {
  now = 1_000_000
  engine = engineOn(':memory:')
  await engine.submit({ rule: 'workspace.begin', input: { id: 'w', keyHash: 'k' }, by: 'agent-relay', cause: 'begin' })
  for (const name of ['ada', 'bob']) await register(name)
  told.length = 0
})

function register(name: string): Promise<CommandReply> {
  const input = { name, proven: false, mayRetake: true, isHolder: false, tokenHash: `hash of ${name}` }
  return engine.submit({ rule: 'agent.register', input, by: name, cause: `hello ${name}` })
}

function send(body: string, to = 'bob', cause = `c${calls++}`): Promise<CommandReply> {
  return engine.submit({ rule: 'message.send', input: { to, body }, by: 'ada', cause })
}

const done = (reply: CommandReply): boolean => !('refusal' in reply)
const codeOf = (reply: CommandReply): string => ('refusal' in reply ? reply.refusal.code : 'done')
const stored = (): number => runAllSteps(store.queries.messageCount(store.journal.lastSeq))

/** Counts the transactions that were committed by `work`. */
async function commitsOf(work: () => Promise<unknown>): Promise<number> {
  const { transact } = store
  let commits = 0
  store.transact = (inner) => {
    commits++
    return transact.call(store, inner) as never
  }
  await work()
  store.transact = transact
  return commits
}

describe('group commit', () => {
  test('commands that arrive in one turn of the event loop share one transaction and one hint', async () => {
    const commits = await commitsOf(() => Promise.all(Array.from({ length: 50 }, (_, i) => send(String(i)))))
    expect(commits).toBe(1)
    expect(told.map((entries) => entries.length)).toEqual([50])
    expect(told[0]?.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, i) => 4 + i))
  })

  test('a flood of commands is stored in several transactions, in order', async () => {
    let replies: CommandReply[] = []
    const commits = await commitsOf(async () => {
      replies = await Promise.all(Array.from({ length: 600 }, (_, i) => send(String(i))))
    })
    expect(commits).toBe(3)
    const seqs = replies.map((reply) => ('seq' in reply ? reply.seq : 0))
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    expect(new Set(seqs).size).toBe(600)
  })

  test('an answer comes after the commit and after the hub was told', async () => {
    const order: string[] = []
    const { transact } = store
    store.transact = (work) => {
      const result = transact.call(store, work)
      order.push('committed')
      return result as never
    }
    await send('x').then(() => order.push(`answered, told ${told.length}`))
    expect(order).toEqual(['committed', 'answered, told 1'])
  })

  test('the engine is not idle while it has work', async () => {
    const sent = send('x')
    expect(engine.isIdle).toBe(false)
    await sent
    expect(engine.isIdle).toBe(true)
  })
})

describe('a command that fails', () => {
  test('a refused command does not affect the others of its transaction', async () => {
    const replies = await Promise.all([send('1'), send('2', 'nobody'), send('3')])
    expect(replies.map(codeOf)).toEqual(['done', 'agent.unknown', 'done'])
    expect(stored()).toBe(2)
  })

  test('a failure of the store is its own sender’s alone', async () => {
    store.database.exec(
      "CREATE TEMP TRIGGER no BEFORE INSERT ON messages WHEN new.body = 'bad' BEGIN SELECT RAISE(ABORT, 'no such luck'); END",
    )
    const replies = await Promise.all([send('1'), send('bad'), send('2', '#general'), send('bad'), send('3')])
    expect(replies.map(codeOf)).toEqual(['done', 'fault', 'done', 'fault', 'done'])
    expect(stored()).toBe(3)
    expect(told.flat()).toHaveLength(3)
    // No half of the bad ones is left: not in the journal, and not as the answer to a repeat.
    const seqs = store.journal.read(0, 100).map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
    store.database.exec('DROP TRIGGER no')
    expect(done(await send('bad', 'bob', 'again'))).toBe(true)
  })

  test('a command that failed is carried out when it is sent again', async () => {
    store.database.exec("CREATE TEMP TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no'); END")
    expect(codeOf(await send('x', 'bob', 'same'))).toBe('fault')
    store.database.exec('DROP TRIGGER no')
    expect(await send('x', 'bob', 'same')).toMatchObject({ repeat: false })
    expect(await send('x', 'bob', 'same')).toMatchObject({ repeat: true })
    expect(stored()).toBe(1)
  })
})

describe('a command with an id that was used', () => {
  test('in the same commit or later: it is carried out once and answered the same', async () => {
    const [one, two] = await Promise.all([send('x', 'bob', 'same'), send('x', 'bob', 'same')])
    expect(two).toEqual({ ...one, repeat: true })
    expect(stored()).toBe(1)
  })

  test('with another input: it is refused, and nothing is changed', async () => {
    const ask = (body: string, digest?: () => string) =>
      engine.submit({ rule: 'message.send', input: { to: 'bob', body }, by: 'ada', cause: 'same', digest })
    const first = await ask('x', () => 'of x')
    expect(await ask('y', () => 'of y')).toMatchObject({
      refusal: { code: 'call.reused', retry: false, details: { id: 'same', operation: 'message.send' } },
    })
    expect(await ask('x', () => 'of x')).toEqual({ ...first, repeat: true })
    expect(stored()).toBe(1)
    // What an older version stored tells nothing of its input.
    store.database.exec('UPDATE journal SET digest = NULL')
    expect(await ask('y', () => 'of y')).toEqual({ ...first, repeat: true })
  })

  test('is answered as before, even if it would be refused by now', async () => {
    const leave = () => engine.submit({ rule: 'channel.leave', input: { channel: '#c' }, by: 'ada', cause: 'leave' })
    await engine.submit({ rule: 'channel.join', input: { channel: '#c', create: true }, by: 'ada', cause: 'join' })
    const first = await leave()
    expect(await leave()).toEqual({ ...first, repeat: true })
  })

  test('is answered as before, even if nothing is left to do: a take answers what it handed out', async () => {
    await send('x')
    const take = () => engine.submit({ rule: 'inbox.take', input: {}, by: 'bob', cause: 'take', session: 's' })
    const first = await take()
    expect(first).toMatchObject({ outcome: { messages: [expect.any(String)] } })
    // What the rule found is not kept: a repeat reads it from the tables.
    expect(await take()).toEqual({ ...first, repeat: true, found: undefined })
  })

  test('an id belongs to its sender and to the command it was used for', async () => {
    await send('x', 'bob', 'same')
    expect(
      await engine.submit({ rule: 'message.send', input: { to: 'ada', body: 'y' }, by: 'bob', cause: 'same' }),
    ).toMatchObject({ repeat: false })
    const other = engine.submit({
      rule: 'channel.join',
      input: { channel: '#c', create: true },
      by: 'ada',
      cause: 'same',
    })
    expect(await other).toMatchObject({ refusal: { code: 'call.reused' } })
  })
})

test('a listener that throws loses a hint: the other listeners and the sender are still told', async () => {
  const stop = hub.listen(() => {
    throw new Error('not today')
  })
  const heard: Entry[][] = []
  hub.listen((entries) => heard.push(entries))
  expect(done(await send('x'))).toBe(true)
  stop()
  expect(done(await send('y'))).toBe(true)
  expect([told.length, heard.length, troubles.map(({ message }) => message)]).toEqual([2, 2, ['not today']])
})

describe('time', () => {
  const times = () => store.journal.read(0, 100).map(({ at }) => at)

  test('the time of an entry is what the clock says, even if that is earlier than before', async () => {
    await send('1')
    now -= 500_000
    await send('2')
    now += 700_000
    await send('3')
    expect(times().slice(-3)).toEqual([1_000_000, 500_000, 1_200_000])
  })
})
