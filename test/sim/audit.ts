// The invariants as code. `look` is cheap and runs after every step; `audit` compares all answers of the relay with the model.

import { isDeepStrictEqual } from 'node:util'
import type { Workspace } from '../../packages/relay/src/broker/workspace.ts'
import { runAllSteps } from '../../packages/relay/src/core/steps.ts'
import type { Database, Row } from '../../packages/relay/src/store/database.ts'
import { digestOfEntry } from '../../packages/relay/src/store/journal.ts'
import { derivedTables } from '../../packages/relay/src/store/migrations.ts'
import type { Store } from '../../packages/relay/src/store/store.ts'
import type { Item, Letter, Model } from './model.ts'

export function same(what: string, got: unknown, wanted: unknown): void {
  if (isDeepStrictEqual(got, wanted)) return
  throw new Error(`${what}:\n     got ${JSON.stringify(got)}\n  wanted ${JSON.stringify(wanted)}`)
}

const truthTables = ['journal', 'messages', 'bodies', 'payloads'] as const

/** Every row of every table that the journal tells, in the order of its key. `whole`: and of the tables that are the truth. */
export function dump(database: Database, whole = false): string {
  return [...derivedTables, ...(whole ? truthTables : [])]
    .map(
      (table) =>
        `${table}\n${database
          .prepare(`SELECT * FROM ${table}`)
          .all()
          .map((row) => (table === 'journal' ? withDigest(database, row) : row))
          .map((row) => JSON.stringify(row))
          .join('\n')}`,
    )
    .join('\n')
}

/** An entry with the digest of its call, also where the entry keeps none because its message says as much. */
function withDigest(database: Database, row: Row): Row {
  const [seq = 0, , , , , , outcome, digest = null] = row
  const [body = null, kind = null] = database.prepare('SELECT body, kind FROM messages WHERE seq = ?').get(seq) ?? []
  return row.with(7, digestOfEntry(JSON.parse(String(outcome)), [digest, body, kind]) ?? null)
}

/** Everything stored is read or still in the inbox of each of its recipients, in the order it was sent; one's own never is. */
export function look(store: Store, model: Model, agent: string): void {
  const got: string[] = []
  for (const each of store.view.inbox.unread(agent, {})) if (each) got.push(each.head.id)
  const wanted = model.unread(agent).map(({ letter }) => letter.id)
  if (got.length !== wanted.length || got.some((id, i) => id !== wanted[i])) same(`the inbox of ${agent}`, got, wanted)
}

export function audit(workspace: Workspace, model: Model): void {
  const { store } = workspace
  for (const agent of model.agents.keys()) inboxOf(store, model, agent)
  for (const letter of model.letters) receiptsOf(store, model, letter)
  channels(store, model)
  journal(store)
  cursors(store, model)
  const [watcher] = [...model.agents.keys()].slice(model.letters.length % model.agents.size)
  if (watcher !== undefined) events(workspace, model, watcher)
  for (const agent of model.agents.keys()) noticesOf(store, model, agent)
  same('the messages stored', runAllSteps(store.queries.messageCount(store.journal.lastSeq)), model.letters.length)
  same(
    'the agents known',
    [...store.view.agents()].map(({ name }) => name),
    [...model.agents.keys()],
  )
  for (const session of model.live.keys()) same(`${session} is live`, workspace.sessions.liveSession(session), session)
}

function shown({ letter, state, route }: Item): object {
  const { id, seq, from, kind, body } = letter
  return { id, seq, from, kind, body, thread: letter.thread, replyTo: letter.replyTo, receipt: state, route }
}

/** All that was ever sent to it, each with its state; what is unread of it, and how many. */
function inboxOf(store: Store, model: Model, agent: string): void {
  const filter = { unreadOnly: false, limit: 500 }
  const { messages, more } = runAllSteps(store.queries.peek(agent, filter))
  const wanted = model.peek(agent, filter)
  const got = messages.map(({ id, seq, from, kind, body, thread, replyTo, receipt, route }) => {
    if (from === agent) throw new Error(`${agent} has its own message in its inbox`)
    return { id, seq, from, kind, body, thread, replyTo, receipt, route }
  })
  same(`what was sent to ${agent}`, { messages: got, more }, { messages: wanted.items.map(shown), more: wanted.more })
  for (let i = 1; i < got.length; i++) {
    if ((got[i]?.seq as number) <= (got[i - 1]?.seq as number))
      throw new Error(`${agent} sees its messages out of order`)
  }
  look(store, model, agent)
  same(`the count of ${agent}`, runAllSteps(store.queries.unreadCount(agent)), model.unread(agent).length)
}

/** Recipients are exactly those who were there at the time; state, route and times are what happened to it last. */
function receiptsOf(store: Store, model: Model, letter: Letter): void {
  const head = store.view.message(letter.id as string)
  if (!head) throw new Error(`the message ${letter.body} is lost`)
  same(`when ${letter.body} was stored`, head.at, letter.at)
  const wanted = [...model.agents.keys()].flatMap((agent) => {
    const item = model.item(agent, letter)
    if (!item) return []
    const { state, route, offeredAt, readAt } = item
    return [{ agent, state, storedAt: iso(letter.at), offeredAt: iso(offeredAt), route, readAt: iso(readAt) }]
  })
  const got = runAllSteps(store.queries.receipts(head, () => false)).map(
    ({ agent, state, storedAt, offeredAt, route, readAt }) => ({
      agent,
      state,
      storedAt,
      offeredAt,
      route,
      readAt,
    }),
  )
  const byName = (a: { agent: string }, b: { agent: string }) => (a.agent < b.agent ? -1 : 1)
  same(`the receipts of ${letter.body}`, got.sort(byName), wanted.sort(byName))
}

function channels(store: Store, model: Model): void {
  const got = runAllSteps(store.queries.channels(undefined)).map(({ name, members, messages }) => ({
    name,
    members,
    messages,
  }))
  const wanted = [...model.channels].map(([name, members]) => {
    return { name, members: members.size, messages: model.letters.filter(({ place }) => place === name).length }
  })
  same(
    'the channels',
    got,
    wanted.sort((a, b) => (a.name < b.name ? -1 : 1)),
  )
}

/** Needs no model: numbers without gaps, nothing offered after it was read, nothing read twice. */
function journal(store: Store): void {
  const read = new Set<string>()
  const places = new Map<string, number>()
  let seq = 0
  for (const entry of store.journal.read(0, 1_000_000)) {
    same('the number of an entry', entry.seq, seq + 1)
    seq = entry.seq
    for (const fact of entry.facts) {
      if (fact.type === 'message.created') {
        same(`the number in ${fact.conversation}`, fact.n, (places.get(fact.conversation) ?? 0) + 1)
        places.set(fact.conversation, fact.n)
      }
      if (fact.type !== 'delivery.offered' && fact.type !== 'delivery.read') continue
      const key = `${fact.message} ${fact.agent}`
      if (read.has(key)) throw new Error(`${key} was read before, and then: ${fact.type}`)
      if (fact.type === 'delivery.read') read.add(key)
    }
  }
}

/** Up to the cursor of each stay all is read, or one's own. */
function cursors(store: Store, model: Model): void {
  const rows = store.database
    .prepare(
      `SELECT a.name, m.id FROM members s JOIN agents a ON a.key = s.agent
        JOIN messages m ON m.conversation = s.conversation AND m.n > s.joined_n AND m.n <= s.cursor WHERE m.sender <> a.name`,
    )
    .all() as [string, string][]
  for (const [agent, id] of rows) {
    const letter = model.byId(id)
    const state = letter && model.item(agent, letter)?.state
    if (state !== 'read') throw new Error(`the cursor of ${agent} has passed ${letter?.body}, which is ${state}`)
  }
}

/** An agent sees the messages of its own conversations, and no other. */
function events(workspace: Workspace, model: Model, agent: string): void {
  const asked = { since: 0, types: ['message.created'], limit: 1_000_000 }
  const { events: seen } = runAllSteps(
    workspace.events.list({ agent, standing: { rank: 'agent' } }, asked, { isSpent: false }),
  )
  const wanted = model.letters.filter((letter) => model.canSee(agent, letter)).map(({ id }) => id)
  same(
    `the messages ${agent} may watch`,
    seen.map(({ message }) => message?.id),
    wanted,
  )
}

/** What an agent still waits to be told. */
function noticesOf(store: Store, model: Model, agent: string): void {
  const got = store.view.notices.of(agent).map((notice) => `${notice.agent} ${notice.when}`)
  const wanted = model.notices.filter(({ asker }) => asker === agent).map((notice) => `${notice.agent} ${notice.when}`)
  same(`the notices that ${agent} waits for`, got.sort(), wanted.sort())
}

function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}
