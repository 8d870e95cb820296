// An inbox of thousands, and a call that finds little or nothing in it: it looks in steps, never inside a commit, and hands out the right messages.

import { type Fact, type InboxMessage, makeIds, type OutputOf } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../../test/until.ts'
import { Dispatch } from '../../../src/broker/dispatch.ts'
import { LongReads } from '../../../src/broker/long-reads.ts'
import type { Session } from '../../../src/broker/sessions/session.ts'
import { Workspace } from '../../../src/broker/workspace.ts'
import { systemClock } from '../../../src/machine/clock.ts'
import { loud } from '../loud.ts'

/** More than a rule passes over by itself. */
const many = 1_500

let workspace: Workspace
let dispatch: Dispatch
let bob: Session
let looks: number
let bobsToken: string | undefined
const ids = makeIds()

class Counted extends LongReads {
  override run(...asked: Parameters<LongReads['run']>): Promise<never> {
    looks++
    return super.run(...asked) as Promise<never>
  }
}

beforeEach(async () => {
  looks = 0
  workspace = new Workspace({
    name: 'huge',
    databasePath: ':memory:',
    searchPath: ':memory:',
    clock: systemClock,
    ids,
    reads: new Counted(),
    ...loud,
  })
  await workspace.start(() => {})
  const daemon = {
    version: '0',
    uptimeMs: () => 0,
    lag: () => ({ p50: 0, p99: 0, max: 0 }),
    socketPath: () => '',
    url: () => undefined,
    agentProcesses: () => new Map(),
  }
  dispatch = new Dispatch(
    workspace,
    { names: () => [], atRest: () => [], awake: () => [], visit: async () => undefined },
    daemon,
  )
  for (const name of ['ada', 'cy']) await dispatch.openSession('owner', { name })
  bob = await arrive()
})
afterEach(() => workspace.close())

async function arrive(token?: string): Promise<Session> {
  const { session, welcome } = await dispatch.openSession('owner', { name: 'bob', token })
  bobsToken = welcome.token ?? bobsToken
  return session
}

/** Answers their ids. */
async function send(by: string, count: number, more: { thread?: string } = {}): Promise<string[]> {
  const input = { to: 'bob', body: 'words', ...more }
  const replies = await Promise.all(
    Array.from({ length: count }, () => workspace.engine.submit({ rule: 'message.send', input, by, cause: ids('c') })),
  )
  return replies.map((reply) => ('outcome' in reply ? (reply.outcome.id as string) : ''))
}

type Page = OutputOf<'inbox.take'>
interface Ask {
  session?: Session
  id?: string
  abandoned?: AbortSignal
}

async function take(input: object, { session = bob, id = ids('c'), abandoned }: Ask = {}): Promise<Page> {
  const { output, handedMessages: handed } = await dispatch.call(session, 'inbox.take', input, id, abandoned)
  dispatch.markReceived(session, handed)
  return output as Page
}

const idsOf = ({ messages }: { messages: InboxMessage[] }) => messages.map(({ id }) => id)

test('inside a commit a take looks through a limited number of rows, and beyond that changes nothing', async () => {
  await send('ada', many)
  for (const input of [{ from: 'cy' }, { thread: 't' }, { from: 'cy', unreadOnly: false }]) {
    const reply = await workspace.engine.submit({
      rule: 'inbox.take',
      input,
      by: 'bob',
      cause: ids('c'),
      session: bob.id,
    })
    expect(reply).toMatchObject({ outcome: { isUnfinished: true } })
  }
  const reply = await workspace.engine.submit({
    rule: 'inbox.read',
    input: { thread: 't' },
    by: 'bob',
    cause: ids('c'),
  })
  expect(reply).toMatchObject({ outcome: { isUnfinished: true } })
})

test('a filter finds a few messages behind thousands, hands them out once, and a repeated call gets the same answer', async () => {
  await send('ada', many)
  const [wanted] = await send('cy', 1, { thread: 't' })
  const id = ids('c')
  expect(await take({ from: 'ada', limit: 1 })).toMatchObject({ messages: [{}], more: 1_000 })
  const looksBefore = looks
  const first = await take({ from: 'cy' }, { id })
  expect(first).toMatchObject({ messages: [{ id: wanted, receipt: 'offered' }], more: 0 })
  expect(looks).toBe(looksBefore + 1)
  expect(idsOf(await take({ from: 'cy' }, { id }))).toEqual([wanted])
  expect(await take({ thread: 't' })).toEqual({ messages: [], more: 0 })
  expect(idsOf(await take({ thread: 't', unreadOnly: false }))).toEqual([wanted])
})

test('a plain take is decided at once, without a search in steps', async () => {
  await send('ada', many)
  expect(await take({})).toMatchObject({ more: 1_000 })
  expect(looks).toBe(0)
})

test('one unread message behind thousands of read ones is found', async () => {
  const [left] = await send('cy', 1)
  const rest = await send('ada', many)
  for (let at = 0; at < many; at += 500)
    await dispatch.call(bob, 'inbox.read', { messages: rest.slice(at, at + 500) }, ids('c'))
  const [last] = await send('cy', 1)
  expect(await take({})).toMatchObject({ messages: [{ id: left }, { id: last }], more: 0 })
})

test('a take that nobody waits for any more stops searching and hands out nothing', async () => {
  await send('ada', many)
  await send('cy', 1)
  const gone = new AbortController()
  const taking = take({ from: 'cy' }, { abandoned: gone.signal })
  while (workspace.reads.size === 0) await new Promise(setImmediate)
  gone.abort()
  await expect(taking).rejects.toMatchObject({ refusal: { code: 'call.abandoned' } })
  expect(workspace.reads.size).toBe(0)
  const { messages } = await take({ from: 'cy' })
  expect(messages).toHaveLength(1)
})

test('two takes that search at once share what they find', async () => {
  const other = await arrive(bobsToken)
  await send('ada', many)
  const wanted = await send('cy', 8)
  const pages = await Promise.all([bob, other].map((session) => take({ from: 'cy', limit: 5 }, { session })))
  const got = pages.flatMap(idsOf)
  expect(new Set(got).size).toBe(got.length)
  expect(pages.every(({ messages }) => messages.length > 0)).toBe(true)
  const rest = await take({ from: 'cy' }, { session: await arrive(bobsToken) })
  expect([...got, ...idsOf(rest)].sort()).toEqual([...wanted].sort())
})

test('a take that waits for one sender is answered, and one that was replaced while it searched gets nothing', async () => {
  await send('ada', many)
  const early = take({ from: 'cy', wait: 50_000 })
  while (workspace.reads.size === 0) await new Promise(setImmediate)
  const late = take({ from: 'cy', wait: 50_000 })
  expect(await early).toEqual({ messages: [], more: 0 })
  // It has looked through everything, and waits.
  await until(() => workspace.reads.size === 0)
  const wanted = await send('cy', 1)
  expect(idsOf(await late)).toEqual(wanted)
})

test('a long thread is marked as read in parts, and counted whole', async () => {
  await send('ada', many)
  const thread = await send('ada', 2_500, { thread: 't' })
  const parts: number[] = []
  const isRead = ({ type }: Fact) => type === 'delivery.read'
  workspace.hub.listen((entries) => {
    for (const { facts } of entries) parts.push(facts.filter(isRead).length)
  })
  const id = ids('c')
  const mark = async () => (await dispatch.call(bob, 'inbox.read', { thread: 't' }, id)).output
  expect(await mark()).toEqual({ read: thread.length })
  expect(parts).toEqual([1_000, 1_000, 500])
  expect(await mark()).toMatchObject({ read: thread.length })
  expect(await take({ thread: 't' })).toEqual({ messages: [], more: 0 })
  expect(await take({ limit: 1 })).toMatchObject({ messages: [{}], more: 1_000 })
})

test('a hook skips thousands of messages that it has shown already', async () => {
  const shown = await send('ada', many)
  for (let at = 0; at < many; at += 500) {
    const input = { messages: shown.slice(at, at + 500), route: 'hook' as const }
    await workspace.engine.submit({ rule: 'inbox.offer', input, by: 'bob', cause: ids('c'), session: bob.id })
  }
  const fresh = await send('cy', 2)
  expect(await take({ route: 'hook' })).toMatchObject({ messages: fresh.map((id) => ({ id })), more: 0 })
})

test('a follower gets thousands of messages, each once and in order', async () => {
  const wanted = await send('ada', many)
  const got: string[] = []
  const ended = new Promise((_, reject) => {
    const item = (message: unknown) => void got.push((message as InboxMessage).id)
    dispatch.watch(bob, 'inbox.follow', {}, { item, isReady: () => true, end: reject } as never)
  })
  ended.catch(() => {})
  await Promise.race([ended, until(() => got.length >= many)])
  expect(got).toEqual(wanted)
})
