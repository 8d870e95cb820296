// What each fact does to the tables: dumb, tiny, and the only writer of their rows. It never asks whether a fact is allowed.

import { type Entry, type Fact, toolNameOf } from '@agent-relay/sdk/protocol'
import type { AgentRow } from '../core/view.ts'
import type { Database, Statement } from './database.ts'
import { derivedTables } from './migrations.ts'
import type { AgentEntry, ConversationEntry, Tables } from './tables.ts'

/** A sender's own messages move its cursor only at every 64th: one write in 64 sends, and never more than 64 of one's own to pass over. */
const ownStride = 64
/** An agent keeps the tokens of its last registrations, and as many that last a day; older ones stop working. */
const tokensMax = 16

const statements = {
  meta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',
  agent:
    'INSERT INTO agents (key, name, id, type, cli, model, parent, handle, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  agentUpdate: 'UPDATE agents SET cli = ?, model = ?, parent = ?, handle = ?, role = ? WHERE key = ?',
  token: 'INSERT OR REPLACE INTO tokens (hash, agent, seq, until) VALUES (?, ?, ?, ?)',
  tokenPrune: `DELETE FROM tokens WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) AND seq <= (SELECT seq FROM tokens
    WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) ORDER BY seq DESC LIMIT 1 OFFSET ${tokensMax})`,
  tokensRevoked: 'DELETE FROM tokens WHERE agent = ?',
  conversation: 'INSERT INTO conversations (name) VALUES (?) RETURNING key',
  stay: 'INSERT OR IGNORE INTO members (agent, conversation, joined_n, cursor) VALUES (?1, ?2, ?3, ?3)',
  // Left and entered again at the same number: the old stay goes on.
  restay: 'UPDATE members SET left_n = NULL WHERE agent = ? AND conversation = ? AND joined_n = ?',
  left: 'UPDATE members SET left_n = ? WHERE agent = ? AND conversation = ? AND left_n IS NULL',
  message:
    'INSERT INTO messages (seq, id, at, conversation, n, sender, kind, thread, reply_to, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  placeOf: 'SELECT seq, conversation FROM messages WHERE id = ?',
  // Finds the message's number itself: a page of fifty would otherwise cost fifty more statements.
  offered: `INSERT INTO receipts (message, agent, offered_at, route, session, until)
    SELECT seq, ?, ?, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET offered_at = excluded.offered_at, route = excluded.route, session = excluded.session, until = excluded.until`,
  released: `UPDATE receipts SET session = NULL, until = NULL WHERE agent = ?
    AND message = (SELECT seq FROM messages WHERE id = ?)`,
  read: 'INSERT INTO receipts (message, agent, read_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET read_at = ?3',
  // To just before the first message that is neither one's own nor read.
  advance: `UPDATE members SET cursor = coalesce((SELECT m.n - 1 FROM messages m
      LEFT JOIN receipts r ON r.message = m.seq AND r.agent = members.agent
      WHERE m.conversation = members.conversation AND m.n > members.cursor AND m.n <= coalesce(members.left_n, ?1)
        AND m.sender <> ?2 AND r.read_at IS NULL ORDER BY m.n LIMIT 1), min(coalesce(left_n, ?1), ?1))
    WHERE agent = ?3 AND conversation = ?4 AND cursor < min(coalesce(left_n, ?1), ?1)`,
  reacted: 'INSERT OR IGNORE INTO reactions (message, agent, emoji, at) VALUES (?, ?, ?, ?)',
  unreacted: 'DELETE FROM reactions WHERE message = ? AND agent = ? AND emoji = ?',
  body: 'INSERT INTO bodies (seq, body) VALUES (?, ?)',
  action: `INSERT OR REPLACE INTO actions (name, tool, provider, session, description, input_schema, output_schema, available_to, timeout_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  withdrawn: 'DELETE FROM actions WHERE name = ?',
  invoked:
    'INSERT INTO invocations (id, action, caller, provider, session, at, until, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  worker: `INSERT INTO workers (id, name, parent, cli, command, args, model, cwd, is_injected, wish, status, at, changed_at, task)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'run', 'wished', ?, ?, ?)`,
  workerWish: 'UPDATE workers SET wish = ? WHERE id = ?',
  workerChanged:
    'UPDATE workers SET status = ?, pid = coalesce(?, pid), code = ?, reason = ?, changed_at = ?, screen = ? WHERE id = ?',
  payload: 'INSERT INTO payloads (seq, gzip) VALUES (?, ?)',
  runStarted: `INSERT INTO runs (id, agent, parent, harness, model, cwd, status, started_at, contract)
    VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?)`,
  runCompleted: `UPDATE runs SET status = 'completed', ended_at = ?, summary = ?, payload_bytes = ?, payload = ? WHERE id = ?`,
  runStopped: `UPDATE runs SET status = 'stopped', ended_at = ?, reason = ? WHERE id = ?`,
  completed: 'UPDATE invocations SET ok = ?, code = ?, message = ?, output = ?, duration_ms = ? WHERE id = ?',
}

/** What belongs to an entry and is stored beside it; without it the rows are there already (the journal is being replayed). */
export interface Belongings {
  body?: string
  payload?: Uint8Array
}

type Handlers = {
  [T in Fact['type']]: (fact: Extract<Fact, { type: T }>, entry: Entry, belongings: Belongings) => void
}

export class Evolve {
  readonly #database: Database
  readonly #tables: Tables
  readonly #sql: Record<keyof typeof statements, Statement>
  /** Stays whose cursor may move once the entry's facts are all in. */
  readonly #touched = new Map<string, [AgentEntry, ConversationEntry]>()

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
    this.#sql = database.prepareAll(statements)
  }

  apply(entry: Entry, belongings: Belongings): void {
    // Left over from an entry that was rolled back, with numbers that never came to be.
    this.#touched.clear()
    for (const fact of entry.facts)
      (this.#handlers[fact.type] as (f: Fact, e: Entry, b: Belongings) => void)(fact, entry, belongings)
    if (this.#touched.size > 0) this.#moveCursors()
  }

  #moveCursors(): void {
    for (const [agent, conversation] of this.#touched.values()) {
      this.#sql.advance.run(conversation.lastN, agent.name, agent.key, conversation.key)
    }
    this.#touched.clear()
  }

  #touch(agent: AgentEntry, conversation: ConversationEntry): void {
    this.#touched.set(`${agent.key}/${conversation.key}`, [agent, conversation])
  }

  /** Before the journal is replayed from its beginning. */
  forgetAll(): void {
    for (const table of derivedTables) this.#database.exec(`DELETE FROM ${table}`)
    this.#tables.reload()
  }

  readonly #handlers: Handlers = {
    'workspace.began': ({ id }) => this.#sql.meta.run('id', id),
    'workspace.key-issued': ({ hash }) => this.#sql.meta.run('key', hash),
    'workspace.policy-set': ({ policy }) => this.#sql.meta.run('policy', JSON.stringify(policy)),
    'agent.registered': ({ id, agent }) => {
      const entry: AgentEntry = {
        ...agent,
        id,
        type: agent.type as AgentRow['type'],
        key: this.#tables.agents.size + 1,
      }
      const { key, name, type } = entry
      this.#sql.agent.run(key, name, id, type, ...this.#optional(entry))
      this.#tables.putAgent(entry)
    },
    'agent.updated': ({ agent }) => {
      const former = this.#agent(agent.name)
      const entry: AgentEntry = { ...agent, id: former.id, type: former.type, key: former.key }
      this.#sql.agentUpdate.run(...this.#optional(entry), entry.key)
      this.#tables.putAgent(entry)
    },
    'agent.token-issued': ({ agent, hash, until = null }, { seq }) => {
      const { key } = this.#agent(agent)
      this.#sql.token.run(hash, key, seq, until)
      this.#sql.tokenPrune.run(key, until)
    },
    'agent.tokens-revoked': ({ agent }) => this.#sql.tokensRevoked.run(this.#agent(agent).key),
    'channel.created': ({ channel }) => void this.#open(channel),
    'channel.joined': ({ channel, agent, n }) => this.#enter(agent, this.#conversation(channel), n),
    'channel.left': ({ channel, agent, n }) => {
      this.#sql.left.run(n, this.#agent(agent).key, this.#conversation(channel).key)
    },
    'conversation.opened': ({ conversation, members }) => {
      const opened = this.#open(conversation)
      // A sender from another workspace is named in the conversation but has no inbox here.
      for (const name of members) if (this.#tables.agents.has(name)) this.#enter(name, opened, 0)
    },
    'message.created': (fact, { seq, at }, { body }) => {
      const conversation = this.#conversation(fact.conversation)
      const { id, n, from, kind, thread = null, replyTo = null } = fact
      if (body !== undefined) this.#sql.message.run(seq, id, at, conversation.key, n, from, kind, thread, replyTo, body)
      conversation.lastN = n
      const sender = n % ownStride === 0 ? this.#tables.agents.get(from) : undefined
      if (sender) this.#touch(sender, conversation)
    },
    'delivery.offered': ({ message, agent, route, session = null, until = null }, { at }) => {
      this.#sql.offered.run(this.#agent(agent).key, at, route, session, until, message)
    },
    'delivery.released': ({ message, agent }) => this.#sql.released.run(this.#agent(agent).key, message),
    'delivery.read': ({ message, agent }, { at }) => {
      const { seq, conversation } = this.#place(message)
      const reader = this.#agent(agent)
      this.#sql.read.run(seq, reader.key, at)
      this.#touch(reader, conversation)
    },
    'action.registered': (fact) => {
      const { name, provider, session, description, inputSchema, outputSchema, availableTo, timeoutMs } = fact
      const optional = [outputSchema, availableTo].map((value) => (value === undefined ? null : JSON.stringify(value)))
      const [output = null, available = null] = optional
      const schema = JSON.stringify(inputSchema)
      this.#sql.action.run(name, toolNameOf(name), provider, session, description, schema, output, available, timeoutMs)
    },
    'action.withdrawn': ({ name }) => this.#sql.withdrawn.run(name),
    'action.invoked': ({ id, action, caller, provider = null, session = null, until }, { seq, at }, { body }) => {
      if (body !== undefined) this.#sql.body.run(seq, body)
      this.#sql.invoked.run(id, action, caller, provider, session, at, until, seq)
    },
    'action.completed': ({ id, ok, code = null, message = null, durationMs }, { seq, facts }, { body }) => {
      // A call that could not begin: the entry's body is its input.
      const isOwnBody = !facts.some(({ type }) => type === 'action.invoked')
      if (ok && isOwnBody && body !== undefined) this.#sql.body.run(seq, body)
      this.#sql.completed.run(ok ? 1 : 0, code, message, ok ? seq : null, durationMs, id)
    },
    'worker.wished': (fact, { seq, at }, { body }) => {
      const { id, worker, parent, cli, command, args, model = null, cwd, isInjected } = fact
      if (body !== undefined) this.#sql.body.run(seq, body)
      const json = (list: string[] | undefined) => (list === undefined ? null : JSON.stringify(list))
      const injected = isInjected ? 1 : 0
      this.#sql.worker.run(id, worker, parent, cli, json(command), json(args), model, cwd, injected, at, at, seq)
    },
    'worker.wish-changed': ({ id, wish }) => this.#sql.workerWish.run(wish, id),
    'worker.changed': ({ id, status, pid = null, code = null, reason = null }, { seq, at }, { body }) => {
      if (body !== undefined) this.#sql.body.run(seq, body)
      this.#sql.workerChanged.run(status, pid, code, reason, at, status === 'exited' ? seq : null, id)
    },
    'run.started': ({ id, agent, parent, harness, model = null, cwd = null }, { seq, at }, { body }) => {
      if (body !== undefined) this.#sql.body.run(seq, body)
      this.#sql.runStarted.run(id, agent, parent, harness, model, cwd, at, seq)
    },
    'run.completed': ({ id, summary, payloadBytes = null }, { seq, at }, { payload }) => {
      if (payload !== undefined) this.#sql.payload.run(seq, payload)
      this.#sql.runCompleted.run(at, summary, payloadBytes, payloadBytes === null ? null : seq, id)
    },
    'run.stopped': ({ id, reason = null }, { at }) => this.#sql.runStopped.run(at, reason, id),
    'reaction.added': ({ message, agent, emoji }, { at }) =>
      this.#sql.reacted.run(this.#place(message).seq, agent, emoji, at),
    'reaction.removed': ({ message, agent, emoji }) => this.#sql.unreacted.run(this.#place(message).seq, agent, emoji),
  }

  #optional({ cli, model, parent, handle, role }: AgentEntry) {
    return [cli ?? null, model ?? null, parent ?? null, handle ?? null, role ?? null] as const
  }

  #open(name: string): ConversationEntry {
    const key = this.#sql.conversation.get(name)?.[0] as number
    const conversation = { key, name, lastN: 0 }
    this.#tables.putConversation(conversation)
    return conversation
  }

  #enter(agent: string, conversation: ConversationEntry, n: number): void {
    const { key } = this.#agent(agent)
    this.#sql.stay.run(key, conversation.key, n)
    this.#sql.restay.run(key, conversation.key, n)
  }

  #agent(name: string): AgentEntry {
    const agent = this.#tables.agents.get(name)
    if (!agent) throw new Error(`a fact names the agent ${name}, who was never registered`)
    return agent
  }

  #conversation(name: string): ConversationEntry {
    const conversation = this.#tables.conversation(name)
    if (!conversation) throw new Error(`a fact names the conversation ${name}, which was never opened`)
    return conversation
  }

  #place(message: string): { seq: number; conversation: ConversationEntry } {
    const row = this.#sql.placeOf.get(message)
    if (!row) throw new Error(`a fact names the message ${message}, which was never stored`)
    return { seq: row[0] as number, conversation: this.#tables.conversationOf(row[1] as number) }
  }
}
