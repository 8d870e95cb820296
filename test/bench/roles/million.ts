// A daemon that holds a million messages in a thousand conversations, measured from inside: the cost of looking into an inbox with fifty unread
// ones, and of newcomers who see none of the messages.

import { join } from 'node:path'
import type { Fact } from '@agent-relay/sdk/protocol'
import { makeIds } from '@agent-relay/sdk/wire'
import type { Dispatch } from 'agent-relay/dist/broker/dispatch.js'
import type { Session } from 'agent-relay/dist/broker/sessions/session.js'
import { directKey } from 'agent-relay/dist/core/conversations.js'
import { Daemon } from 'agent-relay/dist/daemon/daemon.js'
import { LagMeter } from 'agent-relay/dist/machine/event-loop.js'
import { quantile } from '../figures.ts'
import { serve } from './serve.ts'

export interface MillionQuestion {
  build?: { dataDir: string; messages: number }
  measure?: { calls: number }
  reads?: { calls: number }
  /** Pages of the channel that has half of all messages. */
  list?: { calls: number }
}

/** Milliseconds: all but one in a hundred of the newcomers' calls, and the longest call of another session, without them and meanwhile. */
export interface ReadsAnswer {
  p99: Record<string, number>
  calm: number
  longest: number
}

/** p50 in milliseconds, by operation and by how the unread ones are spread. */
export interface MillionAnswer {
  peekOne: number
  peekSpread: number
  takeOne: number
  takeSpread: number
  lagMs: number
}

const unread = 50
const perCommit = 2_000
const ids = makeIds()
const body = `common ${'x'.repeat(193)}`
let dispatch: Dispatch
/** Half of all messages lie in one channel, read by `one`; a quarter in fifty pairs with `spread`, and a quarter in rooms of nobody here. */
const readers: Record<'one' | 'spread', Session> = {} as never
const numbers = new Map<string, number>()
const rooms = 949
const senders = Array.from({ length: unread }, (_, i) => `sender-${String(i).padStart(2, '0')}`)

async function build({ dataDir, messages }: { dataDir: string; messages: number }): Promise<void> {
  const options = { dataDir, credentialsPath: join(dataDir, 'credentials.json'), onTrouble() {}, onStop() {} }
  const daemon = (await Daemon.start(options)) as Daemon
  dispatch = (await daemon.open('bench')).dispatch
  for (const name of senders) await dispatch.openSession('owner', { name, channels: ['#one'] })
  for (const name of ['one', 'spread'] as const) {
    const channels = name === 'one' ? ['#one'] : []
    readers[name] = (await dispatch.openSession('owner', { name, channels })).session
  }
  for (let done = 0; done < messages; done += perCommit) {
    const made = append(perCommit / 2, 'one')
    made.push(...append(perCommit / 4, 'spread'))
    append(perCommit / 4, 'rooms')
    if (done + perCommit < messages) read(made)
  }
  // The last of them are read too, but for the fifty that are to be found.
  for (const name of ['one', 'spread'] as const) await settle(name)
}

/** Past the engine, which would take a commit for every batch of calls, but by its own road: entry and rows together. */
function append(count: number, reader: 'one' | 'spread' | 'rooms'): { id: string; reader: string }[] {
  const { store } = dispatch.workspace
  return store.transact(() =>
    Array.from({ length: count }, (_, i) => {
      const from = senders[i % senders.length] as string
      const conversation = { one: '#one', spread: directKey([from, 'spread']), rooms: `#room-${nextRoom++ % rooms}` }[
        reader
      ]
      const id = ids('m')
      const n = (numbers.get(conversation) ?? store.view.lastNumber(conversation) ?? 0) + 1
      const created = { type: 'message.created' as const, id, conversation, n, from, kind: 'free' as const }
      const facts = [...(n === 1 ? opening(conversation, from, reader) : []), created]
      numbers.set(conversation, n)
      const answer = { rule: 'message.send', outcome: { id, to: reader } }
      store.append({ at: Date.now(), by: from, cause: ids('c'), facts, ...answer, body })
      return { id, reader }
    }),
  )
}

let nextRoom = 0

function opening(conversation: string, from: string, reader: 'one' | 'spread' | 'rooms'): Fact[] {
  if (reader === 'spread') return [{ type: 'conversation.opened', conversation, members: [from, 'spread'] }]
  if (reader === 'one') return []
  const joined: Fact = { type: 'channel.joined', channel: conversation, agent: from, n: 0 }
  return [{ type: 'channel.created', channel: conversation }, joined]
}

function read(made: { id: string; reader: string }[]): void {
  const { store } = dispatch.workspace
  store.transact(() => {
    for (const reader of ['one', 'spread']) {
      const facts = made
        .filter((each) => each.reader === reader)
        .map(({ id }) => ({ type: 'delivery.read' as const, message: id, agent: reader }))
      const answer = { rule: 'inbox.read', outcome: { read: facts.length } }
      store.append({ at: Date.now(), by: reader, cause: ids('c'), facts, ...answer })
    }
  })
}

/** Leaves exactly the wanted number unread. */
async function settle(name: 'one' | 'spread'): Promise<void> {
  for (;;) {
    const { output } = await dispatch.call(readers[name], 'inbox.peek', { limit: 500 }, ids('c'))
    const { messages, more } = output as { messages: { id: string }[]; more: number }
    const extra = messages.length + more - unread
    if (extra <= 0) return
    const readNow = messages.slice(0, Math.min(extra, messages.length)).map(({ id }) => id)
    await dispatch.call(readers[name], 'inbox.read', { messages: readNow }, ids('c'))
  }
}

async function measure({ calls }: { calls: number }): Promise<MillionAnswer> {
  const took: Record<keyof Omit<MillionAnswer, 'lagMs'>, number[]> = {
    peekOne: [],
    peekSpread: [],
    takeOne: [],
    takeSpread: [],
  }
  // Its own meter: the daemon's remembers a minute, and the building before kept the loop busy for most of it.
  const lag = new LagMeter()
  for (let i = 0; i < calls; i++) {
    for (const name of ['one', 'spread'] as const) {
      const suffix = name === 'one' ? 'One' : 'Spread'
      took[`peek${suffix}`].push(await timed(name, 'inbox.peek'))
      took[`take${suffix}`].push(await timed(name, 'inbox.take'))
      // The next call counts them as read; then there are fifty new ones.
      await dispatch.call(readers[name], 'inbox.count', {}, ids('c'))
      append(unread, name)
    }
    await new Promise(setImmediate)
  }
  const p50 = (values: number[]) => quantile(values, 0.5)
  const { peekOne, peekSpread, takeOne, takeSpread } = took
  const lagMs = lag.read().p99
  lag.stop()
  return {
    peekOne: p50(peekOne),
    peekSpread: p50(peekSpread),
    takeOne: p50(takeOne),
    takeSpread: p50(takeSpread),
    lagMs,
  }
}

async function timed(name: 'one' | 'spread', op: 'inbox.peek' | 'inbox.take'): Promise<number> {
  const from = performance.now()
  const { output, handedMessages } = await dispatch.call(readers[name], op, {}, ids('c'))
  const ms = performance.now() - from
  dispatch.markReceived(readers[name], handedMessages)
  const found = (output as { messages: unknown[] }).messages.length
  if (found !== unread) throw new Error(`${op} found ${found} for ${name}`)
  return ms
}

const newcomers = 10
const asked = {
  search: ['message.search', { text: 'common' }],
  'event.list': ['event.list', {}],
  'message.list': ['message.list', { conversation: '#one' }],
} as const

/** Ten at once, who have just come and see nothing, beside one who only counts what waits for it. */
async function measureReads({ calls }: { calls: number }): Promise<ReadsAnswer> {
  const names = Array.from({ length: newcomers }, (_, i) => `newcomer-${i}`)
  const sessions = await Promise.all(names.map(async (name) => (await dispatch.openSession('owner', { name })).session))
  const { session: other } = await dispatch.openSession('owner', { name: 'other' })
  const took: Record<string, number[]> = Object.fromEntries(Object.keys(asked).map((what) => [what, []]))
  const go = async (session: Session) => {
    for (let i = 0; i < calls; i++) {
      for (const [what, [op, input]] of Object.entries(asked)) {
        const from = performance.now()
        await dispatch.call(session, op, input, ids('c'))
        took[what]?.push(performance.now() - from)
      }
    }
  }
  const calm = await longestOf(other, new Promise((resolve) => setTimeout(resolve, 1_000)))
  const longest = await longestOf(other, Promise.all(sessions.map(go)))
  const p99 = Object.fromEntries(Object.entries(took).map(([what, times]) => [what, quantile(times, 0.99)]))
  return { p99, calm, longest }
}

async function longestOf(session: Session, work: Promise<unknown>): Promise<number> {
  let [isOver, longest] = [false, 0]
  void work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const from = performance.now()
    await dispatch.call(session, 'inbox.count', {}, ids('c'))
    longest = Math.max(longest, performance.now() - from)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return longest
}

/** p50 in milliseconds of its newest page. */
async function measureList({ calls }: { calls: number }): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < calls; i++) {
    const from = performance.now()
    await dispatch.call(readers.one, 'message.list', { conversation: '#one' }, ids('c'))
    took.push(performance.now() - from)
  }
  return quantile(took, 0.5)
}

serve((question: MillionQuestion) => {
  if (question.build) return build(question.build)
  if (question.list) return measureList(question.list)
  return question.measure ? measure(question.measure) : question.reads && measureReads(question.reads)
})
