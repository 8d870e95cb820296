// What was said to a person since they last wrote there, and what they have dismissed, as rows. What of it needs them is decided in core/needs.ts.

import type { Steps } from '../core/steps.ts'
import type { MessageHead } from '../core/view.ts'
import { headColumns } from './columns.ts'
import type { Database, Statement } from './database.ts'
import type { Tables } from './tables.ts'
import type { SqliteView } from './view.ts'

const statements = {
  dismissed: 'SELECT key, through FROM dismissals WHERE agent = ?',
  isDismissed: 'SELECT 1 FROM dismissals WHERE agent = ? AND key = ?',
  stays: `SELECT conversation, joined_n FROM members WHERE agent = ? AND conversation > ? AND left_n IS NULL
    ORDER BY conversation LIMIT (? + 0)`,
  lastOwn: 'SELECT n FROM messages WHERE conversation = ? AND n > ? AND sender = ? ORDER BY n DESC LIMIT 1',
  direct: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.sender <> ?3 ORDER BY m.n DESC LIMIT (?4 + 0)`,
  naming: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.n <= ?4 AND m.sender <> ?3
    AND instr(m.body, ?3) > 0 ORDER BY m.n DESC`,
}

const staysPerStep = 64
/** Of a conversation, the newest messages that are looked at; and of a channel so many in one step. */
const [lookedAtMax, namingPerStep] = [4_096, 64]
/** Of a pair or group. */
const directMax = 200

export class NeedRows {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #tables: Tables
  readonly #view: SqliteView

  constructor(database: Database, tables: Tables, view: SqliteView) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#tables = tables
    this.#view = view
  }

  /** By the key of each need: through which entry. */
  dismissed(agent: string): ReadonlyMap<string, number> {
    return new Map(this.#sql.dismissed.all(agent) as [string, number][])
  }

  isDismissed(agent: string, key: string): boolean {
    return this.#sql.isDismissed.get(agent, key) !== undefined
  }

  /**
   * What others have said since the agent last wrote: in a pair or group all of it, in a channel what may name the agent. Newest first in each.
   * `isEverywhere`: also in channels that it is not in, and from before it was in them.
   */
  *saidSince(name: string, isEverywhere: boolean): Steps<MessageHead[]> {
    const agent = this.#tables.agents.get(name)?.key ?? -1
    const said: MessageHead[] = []
    const channels = isEverywhere ? this.#tables.channels() : []
    for (const channel of channels) {
      const { key } = this.#tables.conversation(channel) as { key: number }
      yield* this.#saidIn(key, name, 0, said)
      yield
    }
    const known = new Set(channels)
    for (let after = 0, isMore = true; isMore; ) {
      const stays = this.#sql.stays.all(agent, after, staysPerStep) as [number, number][]
      for (const [conversation, joined] of stays)
        if (!known.has(this.#tables.conversationOf(conversation).name))
          yield* this.#saidIn(conversation, name, joined, said)
      yield
      after = stays.at(-1)?.[0] ?? 0
      isMore = stays.length === staysPerStep
    }
    return said
  }

  *#saidIn(conversation: number, agent: string, joined: number, said: MessageHead[]): Steps<void> {
    const { name, lastN } = this.#tables.conversationOf(conversation)
    const first = Math.max(joined, lastN - lookedAtMax)
    if (first >= lastN) return
    const own = Number(this.#sql.lastOwn.get(conversation, first, agent)?.[0] ?? first)
    if (name.startsWith('@')) {
      for (const row of this.#sql.direct.all(conversation, own, agent, directMax)) said.push(this.#view.head(row))
      return
    }
    for (let high = lastN; high > own; high -= namingPerStep) {
      const low = Math.max(own, high - namingPerStep)
      for (const row of this.#sql.naming.all(conversation, low, agent, high)) said.push(this.#view.head(row))
      yield
    }
  }
}
