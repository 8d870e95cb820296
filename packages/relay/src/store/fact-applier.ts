// Applies facts (stored events) to the tables: facts about agents, conversations and messages here, facts about other nouns in the files that have their rows.
// Nothing is checked here: a rule has decided that the fact is allowed.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { AgentRow } from '../core/view.ts'
import { backupMachine } from '../core/world.ts'
import { actionAppliers } from './action-rows.ts'
import { bodyKeeper, type EntryToApply, type FactAppliers } from './appliers.ts'
import { approvalAppliers } from './approval-rows.ts'
import { claimAppliers } from './claim-rows.ts'
import { ConcernRows } from './concerns.ts'
import type { Database, Statement } from './database.ts'
import { derivedTables } from './migrations.ts'
import { needAppliers } from './need-rows.ts'
import { NotedReceipts } from './noted-receipts.ts'
import { noticeAppliers } from './notice-rows.ts'
import { runAppliers } from './run-rows.ts'
import { spendAppliers } from './spend-rows.ts'
import type { KnownAgent, KnownConversation, TablesMirror } from './tables.ts'
import { workerAppliers } from './worker-rows.ts'

/** The facts that this file applies itself. The files of the other nouns, such as run-rows.ts, apply the rest. */
type Own =
  `${'workspace' | 'machine' | 'agent' | 'channel' | 'conversation' | 'message' | 'delivery' | 'deliveries' | 'reaction'}.${string}`

/**
 * With every 64th message that an agent sends, its own read cursor moves too. So a read never has more than 64 of the agent's own messages to skip, at one
 * write in 64 sends.
 */
const ownStride = 64

/** Maximum number of an agent's tokens without an end, and also of those with an end. One more token makes the oldest one stop working. */
const tokensMax = 16

const statements = {
  meta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',
  metaGone: 'DELETE FROM meta WHERE name = ?',
  agent:
    'INSERT INTO agents (key, name, id, type, cli, model, parent, handle, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  agentUpdate: 'UPDATE agents SET cli = ?, model = ?, parent = ?, handle = ?, role = ? WHERE key = ?',
  retired: 'UPDATE agents SET name = ?, handle = NULL, retired = 1 WHERE key = ?',
  token: 'INSERT OR REPLACE INTO tokens (hash, agent, seq, until) VALUES (?, ?, ?, ?)',
  tokenPrune: `DELETE FROM tokens WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) AND seq <= (SELECT seq FROM tokens
    WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) ORDER BY seq DESC LIMIT 1 OFFSET ${tokensMax})`,
  tokensRevoked: 'DELETE FROM tokens WHERE agent = ?',
  tokensForgotten: 'DELETE FROM tokens',
  conversation: 'INSERT INTO conversations (name) VALUES (?) RETURNING key',
  // Renames the row of a removed conversation to a name that nobody can use. The row is not deleted: the next conversation would get its key.
  removed: "UPDATE conversations SET name = '-' || key WHERE key = ?",
  staysRemoved: 'DELETE FROM members WHERE conversation = ?',
  stay: 'INSERT OR IGNORE INTO members (agent, conversation, joined_n, cursor) VALUES (?1, ?2, ?3, ?3)',
  // An agent that leaves a conversation and comes back before another message was sent continues its former stay.
  restay: 'UPDATE members SET left_n = NULL WHERE agent = ? AND conversation = ? AND joined_n = ?',
  left: 'UPDATE members SET left_n = ? WHERE agent = ? AND conversation = ? AND left_n IS NULL',
  message:
    'INSERT INTO messages (seq, id, at, conversation, n, sender, kind, thread, reply_to, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  placeOf: 'SELECT seq, conversation FROM messages WHERE id = ?',
  // The statement looks up the message by its id itself, which saves one statement for each message that is handed out.
  offered: `INSERT INTO receipts (message, agent, offered_at, route, session, until)
    SELECT seq, ?, ?, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET offered_at = excluded.offered_at, route = excluded.route, session = excluded.session, until = excluded.until`,
  held: `INSERT INTO receipts (message, agent, session, until) SELECT seq, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET route = NULL, session = excluded.session, until = excluded.until`,
  released: `UPDATE receipts SET session = NULL, until = NULL WHERE agent = ?
    AND message = (SELECT seq FROM messages WHERE id = ?)`,
  read: 'INSERT INTO receipts (message, agent, read_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET read_at = ?3',
  // Moves the read cursor of a stay (an agent's time in a conversation) to just before the first message that is neither the agent's own nor read.
  advance: `UPDATE members SET cursor = coalesce((SELECT m.n - 1 FROM messages m
      LEFT JOIN receipts r ON r.message = m.seq AND r.agent = members.agent
      WHERE m.conversation = members.conversation AND m.n > members.cursor AND m.n <= coalesce(members.left_n, ?1)
        AND m.sender <> ?2 AND r.read_at IS NULL ORDER BY m.n LIMIT 1), min(coalesce(left_n, ?1), ?1))
    WHERE agent = ?3 AND conversation = ?4 AND cursor < min(coalesce(left_n, ?1), ?1)`,
  reacted: 'INSERT OR IGNORE INTO reactions (message, agent, emoji, at, seq) VALUES (?, ?, ?, ?, ?)',
  unreacted: 'DELETE FROM reactions WHERE message = ? AND agent = ? AND emoji = ?',
}

/** Statements that most workspaces never run, so each is prepared at its first use. */
const rareStatements = {
  // Used in shared workspaces: if two machines report different times of an offer, the later time is kept, as in noted-receipts.ts.
  offeredAtHome: `INSERT INTO receipts (message, agent, offered_at, route, session, until)
    SELECT seq, ?, ?, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET offered_at = max(coalesce(offered_at, 0), excluded.offered_at), route = excluded.route,
      session = excluded.session, until = excluded.until`,
  home: 'INSERT INTO homes (agent, epoch, machine) VALUES (?, ?, ?)',
  workersRestored: 'UPDATE workers SET machine = ?, worktree = NULL',
  runsRestored: 'UPDATE runs SET machine = ?',
}

export class FactApplier {
  readonly #database: Database
  readonly #tables: TablesMirror
  readonly #concerns: ConcernRows
  readonly #noted: NotedReceipts
  readonly #sql: Record<keyof typeof statements | keyof typeof rareStatements, Statement>
  readonly #offered: Statement
  readonly #appliers: FactAppliers
  /** The agents and conversations of the current entry whose read cursors may have to move after its last fact. */
  readonly #touched = new Map<string, [KnownAgent, KnownConversation]>()

  /** `machine`: the name of this machine, if the workspace is shared between machines. */
  constructor(database: Database, tables: TablesMirror, machine?: string) {
    this.#database = database
    this.#tables = tables
    this.#concerns = new ConcernRows(database, (name) => tables.agents.get(name)?.key)
    this.#noted = new NotedReceipts(database, tables, machine)
    this.#sql = { ...database.prepareAll(statements), ...database.prepareWhenUsed(rareStatements) }
    this.#offered = machine === undefined ? this.#sql.offered : this.#sql.offeredAtHome
    const keep = bodyKeeper(database)
    this.#appliers = {
      ...this.#ownAppliers,
      ...actionAppliers(database, keep),
      ...approvalAppliers(database, keep),
      ...claimAppliers(database),
      ...needAppliers(database),
      ...noticeAppliers(database),
      ...runAppliers(database, keep),
      ...spendAppliers(database),
      ...workerAppliers(database, keep),
    }
  }

  apply(entry: EntryToApply): void {
    this.applyLocal(entry)
    this.#concerns.write(entry)
  }

  /**
   * Applies an entry of the local journal, which only this machine has. Its deliveries appear among the events later, when this machine's report of them is in
   * the shared journal.
   */
  applyLocal(entry: EntryToApply): void {
    // If the entry before was rolled back, this map may still hold its agents and conversations, with message numbers that were never stored.
    this.#touched.clear()
    for (const fact of entry.facts) (this.#appliers[fact.type] as (f: Fact, e: EntryToApply) => void)(fact, entry)
    if (this.#touched.size > 0) this.#moveCursors()
  }

  #moveCursors(): void {
    for (const [agent, conversation] of this.#touched.values()) {
      this.#sql.advance.run(conversation.lastN, agent.name, agent.key, conversation.key)
    }
    this.#touched.clear()
  }

  #touch(agent: KnownAgent, conversation: KnownConversation): void {
    this.#touched.set(`${agent.key}/${conversation.key}`, [agent, conversation])
  }

  /** Deletes all tokens, including those of agents that no entry names. */
  forgetTokens(): void {
    this.#sql.tokensForgotten.run()
  }

  /** Empties the derived tables before the journal is replayed from its beginning. */
  forgetAll(): void {
    for (const table of derivedTables) this.#database.exec(`DELETE FROM ${table}`)
    this.#tables.reload()
  }

  readonly #ownAppliers: FactAppliers<Own> = {
    'workspace.began': ({ id }) => this.#sql.meta.run('id', id),
    'workspace.key-issued': ({ hash }) => this.#sql.meta.run('key', hash),
    'workspace.restored': () => {
      this.#sql.workersRestored.run(backupMachine)
      this.#sql.runsRestored.run(backupMachine)
    },
    'workspace.policy-set': ({ policy }) => this.#sql.meta.run('policy', JSON.stringify(policy)),
    'workspace.raised': ({ format }) => this.#sql.meta.run('format', `${format}`),
    'workspace.owned': ({ machine }) => this.#sql.meta.run('owner', machine),
    'machine.revoked': ({ machine }) => this.#sql.meta.run(`revoked ${machine}`, ''),
    'machine.admitted': ({ machine }) => this.#sql.metaGone.run(`revoked ${machine}`),
    'agent.registered': ({ id, agent }) => {
      // An agent gets the next free number as its key. All machines apply all entries in order, so the key is the same everywhere.
      const key = this.#tables.agents.size + 1
      const known: KnownAgent = { ...agent, id, type: agent.type as AgentRow['type'], key }
      this.#sql.agent.run(key, known.name, id, known.type, ...this.#optional(known))
      this.#tables.putAgent(known)
    },
    'agent.updated': ({ agent }) => {
      const former = this.#agent(agent.name)
      const known: KnownAgent = { ...agent, id: former.id, type: former.type, key: former.key }
      this.#sql.agentUpdate.run(...this.#optional(known), known.key)
      this.#tables.putAgent(known)
    },
    'agent.token-issued': ({ agent, hash, until = null }, { seq }) => {
      const { key } = this.#agent(agent)
      this.#sql.token.run(hash, key, seq, until)
      this.#sql.tokenPrune.run(key, until)
    },
    'agent.tokens-revoked': ({ agent }) => this.#sql.tokensRevoked.run(this.#agent(agent).key),
    'agent.retired': ({ agent, isFree }) => {
      const { handle, ...known } = this.#agent(agent)
      // The row of a retired agent is kept, since the next agent would get its key. If its name becomes free, the row is renamed with a `~`, which no name can
      // have.
      const name = isFree ? `${agent}~${known.key}` : agent
      this.#sql.retired.run(name, known.key)
      this.#tables.putAgent({ ...known, isRetired: true })
      if (isFree) this.#tables.renameAgent(this.#agent(agent), name)
    },
    // The daemon has given the agent a brief: no table changes.
    'agent.briefed': () => {},
    'agent.homed': ({ agent, machine, epoch }) => {
      this.#sql.home.run(agent, epoch, machine)
      this.#tables.putHome(agent, { machine, epoch })
    },
    'deliveries.noted': (fact) => {
      const reader = this.#agent(fact.agent)
      for (const message of this.#noted.apply(fact, reader)) {
        const place = this.#place(message)
        if (place) this.#touch(reader, place.conversation)
      }
    },
    'channel.created': ({ channel }) => void this.#open(channel),
    'channel.joined': ({ channel, agent, n }) => this.#enter(agent, this.#conversation(channel), n),
    'channel.left': ({ channel, agent, n }) => {
      const conversation = this.#conversation(channel)
      conversation.members = undefined
      this.#sql.left.run(n, this.#agent(agent).key, conversation.key)
    },
    'channel.removed': ({ channel }) => {
      const conversation = this.#conversation(channel)
      this.#sql.removed.run(conversation.key)
      this.#sql.staysRemoved.run(conversation.key)
      this.#tables.dropConversation(conversation)
    },
    'conversation.opened': ({ conversation, members }) => {
      const opened = this.#open(conversation)
      // A sender from another workspace is a member by name, but has no inbox here.
      for (const name of members) if (this.#tables.agents.has(name)) this.#enter(name, opened, 0)
    },
    'message.created': (fact, { seq, at, body }) => {
      const conversation = this.#conversation(fact.conversation)
      const { id, n, from, kind, thread = null, replyTo = null } = fact
      if (!this.#tables.isReplaying)
        this.#sql.message.run(seq, id, at, conversation.key, n, from, kind, thread, replyTo, body as string)
      conversation.lastN = n
      conversation.lastSeq = seq
      const sender = n % ownStride === 0 ? this.#tables.agents.get(from) : undefined
      if (sender) this.#touch(sender, conversation)
    },
    'delivery.offered': ({ message, agent, route, session = null, until = null }, { at }) => {
      this.#offered.run(this.#agent(agent).key, at, route, session, until, message)
    },
    'delivery.held': ({ message, agent, session = null, until }) =>
      this.#sql.held.run(this.#agent(agent).key, session, until, message),
    'delivery.released': ({ message, agent }) => this.#sql.released.run(this.#agent(agent).key, message),
    'delivery.read': ({ message, agent }, { at }) => {
      const place = this.#place(message)
      const reader = this.#agent(agent)
      if (!place) return
      this.#sql.read.run(place.seq, reader.key, at)
      this.#touch(reader, place.conversation)
    },
    'reaction.added': ({ message, agent, emoji }, { seq, at }) => {
      const place = this.#place(message)
      if (place) this.#sql.reacted.run(place.seq, agent, emoji, at, seq)
    },
    'reaction.removed': ({ message, agent, emoji }) => {
      const place = this.#place(message)
      if (place) this.#sql.unreacted.run(place.seq, agent, emoji)
    },
  }

  #optional({ cli, model, parent, handle, role }: KnownAgent) {
    return [cli ?? null, model ?? null, parent ?? null, handle ?? null, role ?? null] as const
  }

  #open(name: string): KnownConversation {
    const key = this.#sql.conversation.get(name)?.[0] as number
    const conversation = { key, name, lastN: 0, lastSeq: 0 }
    this.#tables.openConversation(conversation)
    return conversation
  }

  #enter(agent: string, conversation: KnownConversation, n: number): void {
    const { key } = this.#agent(agent)
    conversation.members = undefined
    this.#sql.stay.run(key, conversation.key, n)
    this.#sql.restay.run(key, conversation.key, n)
  }

  #agent(name: string): KnownAgent {
    const agent = this.#tables.agents.get(name)
    if (!agent) throw new Error(`a fact names the agent ${name}, who was never registered`)
    return agent
  }

  #conversation(name: string): KnownConversation {
    const conversation = this.#tables.conversationToChange(name)
    if (!conversation) throw new Error(`a fact names the conversation ${name}, which was never opened`)
    return conversation
  }

  /** Returns the row key and the conversation of a message. Undefined if the message was pruned: later facts about it change nothing. */
  #place(message: string): { seq: number; conversation: KnownConversation } | undefined {
    const row = this.#sql.placeOf.get(message)
    if (!row) return undefined
    return { seq: row[0] as number, conversation: this.#tables.conversationOf(row[1] as number) }
  }
}
