// Rows for needs, the things that wait for a person: the conversations to search for messages to that person, and the needs that they have dismissed.
// core/needs.ts decides which of the messages are needs.

import type { Steps } from '../core/steps.ts'
import type { MessageHead } from '../core/view.ts'
import type { FactAppliers } from './appliers.ts'
import { headColumns } from './columns.ts'
import { type Database, pagesOf, type Row, readRow, type Statement } from './database.ts'
import type { TablesMirror } from './tables.ts'
import type { SqliteView } from './view.ts'

const statements = {
  dismissed: 'SELECT key, through FROM dismissals WHERE agent = ?',
  isDismissed: 'SELECT 1 FROM dismissals WHERE agent = ? AND key = ?',
  isDismissedByAny: 'SELECT 1 FROM dismissals WHERE key = ? LIMIT 1',
  stays: `SELECT conversation, joined_n FROM members WHERE agent = ? AND conversation > ? AND left_n IS NULL
    ORDER BY conversation LIMIT (? + 0)`,
  lastOwn: 'SELECT n FROM messages WHERE conversation = ? AND n > ? AND sender = ? ORDER BY n DESC LIMIT 1',
  direct: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.sender <> ?3 ORDER BY m.n DESC LIMIT (?4 + 0)`,
  naming: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.n <= ?4 AND m.sender <> ?3
    AND instr(m.body, ?3) > 0`,
  at: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ? AND m.n = ?`,
}

const staysPerStep = 64
/** Maximum number of messages, counted from the newest, that are searched in a conversation. */
const lookedAtMax = 4_096
/** Maximum number of messages that are read from a pair or group. */
const directMax = 200

/** A conversation to search for messages to a person. */
export interface ConversationToSearch {
  key: number
  name: string
  /** Only messages above this number are searched: that of the person's own last message, or the one at which they entered. */
  afterNumber: number
  /** Messages up to this number are too old to be searched for anybody. */
  searchedAfter: number
  lastN: number
}

export class NeedRows {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #tables: TablesMirror
  readonly #view: SqliteView

  constructor(database: Database, tables: TablesMirror, view: SqliteView) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#tables = tables
    this.#view = view
  }

  /** Returns the dismissed needs of an agent: for each need's map key, the number of the last entry that the dismissal covers. */
  dismissed(agent: string): ReadonlyMap<string, number> {
    return new Map(this.#sql.dismissed.all(agent) as [string, number][])
  }

  isDismissed(agent: string, key: string): boolean {
    return this.#sql.isDismissed.get(agent, key) !== undefined
  }

  isDismissedByAny(key: string): boolean {
    return this.#sql.isDismissedByAny.get(key) !== undefined
  }

  /**
   * Returns the conversations to search for an agent. `isEverywhere`: also channels that the agent is not in, and messages that were sent before it entered.
   */
  *conversationsToSearch(name: string, isEverywhere: boolean): Steps<ConversationToSearch[]> {
    const agent = this.#tables.agents.get(name)?.key ?? -1
    const places = new Map<number, ConversationToSearch>()
    for (const channel of isEverywhere ? this.#tables.channels() : []) {
      const known = this.#tables.conversation(channel)
      if (known) places.set(known.key, this.#place(known.key, name, 0))
      yield
    }
    const read = (last?: Row) => this.#sql.stays.all(agent, last?.[0] ?? 0, staysPerStep)
    for (const stays of pagesOf(staysPerStep, read)) {
      for (const [key, joined] of stays as [number, number][])
        if (!places.has(key)) places.set(key, this.#place(key, name, joined))
      yield
    }
    return [...places.values()]
  }

  #place(key: number, agent: string, joined: number): ConversationToSearch {
    const { name, lastN } = this.#tables.conversationOf(key)
    const first = Math.max(0, lastN - lookedAtMax)
    const oldest = Math.max(joined, first)
    const above = Number(this.#sql.lastOwn.get(key, oldest, agent)?.[0] ?? oldest)
    return { key, name, afterNumber: above, searchedAfter: first, lastN }
  }

  /** Returns the messages of other agents in a pair or group, newest first. */
  directMessages({ key, afterNumber }: ConversationToSearch, agent: string): MessageHead[] {
    return this.#sql.direct.all(key, afterNumber, agent, directMax).map((row) => this.#view.messageHead(row))
  }

  /** Returns the messages of other agents, above number `low` and up to `high`, whose bodies contain the agent's name. Reads every body in that range. */
  messagesNaming({ key }: ConversationToSearch, agent: string, low: number, high: number): MessageHead[] {
    return this.#sql.naming.all(key, low, agent, high).map((row) => this.#view.messageHead(row))
  }

  messageAt({ key }: ConversationToSearch, n: number): MessageHead | undefined {
    return readRow(this.#sql.at.get(key, n), (row) => this.#view.messageHead(row))
  }
}

const writes = {
  // Two sessions may dismiss the same need after different messages: the row keeps the later entry.
  dismissed:
    'INSERT INTO dismissals VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET through = max(through, excluded.through)',
}

export function needAppliers(database: Database): FactAppliers<`need.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'need.dismissed': ({ agent, key, through }) => sql.dismissed.run(agent, key, through),
  }
}
