// The table `concerns`: one row for an entry and each agent whom it concerns besides the readers of its message. With it a reader finds its entries without
// reading those of others. The rows follow the audience of each fact in the table of facts, which also decides what a reader sees of an entry.

import type { Entry, Fact } from '@agent-relay/sdk/protocol'
import type { AudienceLookups } from '../core/facts/row.ts'
import { factRowOf } from '../core/facts/table.ts'
import { type Database, pagesOf, type Row, type Statement } from './database.ts'

/** Values of the column `who`: the key of an agent's row, the negated key of a conversation's row, or 0 for everyone. */
export const concernsKeyOfEveryone = 0
export const concernsKeyOfConversation = (key: number): number => -key

const statements = {
  insert: 'INSERT INTO concerns (who, seq) VALUES (?, ?)',
  place: 'SELECT sender, conversation FROM messages WHERE id = ?',
  provider: 'SELECT provider FROM invocations WHERE id = ?',
  parent: 'SELECT parent FROM runs WHERE id = ?',
}

export class ConcernRows {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #keyOf: (agent: string) => number | undefined
  readonly #known: AudienceLookups
  readonly #who = new Set<number>()

  constructor(database: Database, keyOf: (agent: string) => number | undefined) {
    this.#sql = database.prepareAll(statements)
    this.#keyOf = keyOf
    const first = <T>(row: Row | undefined, make: (text: string) => T) => (row ? make(row[0] as string) : undefined)
    this.#known = {
      message: (id) => first(this.#sql.place.get(id), (from) => ({ from })),
      actions: { invocation: (id) => first(this.#sql.provider.get(id), (provider) => ({ provider })) },
      runs: { byId: (id) => first(this.#sql.parent.get(id), (parent) => ({ parent })) },
    }
  }

  /**
   * Writes the rows of `concerns` for an entry, after its facts were applied. An entry that only sends a message gets none: its readers find it by its
   * conversation.
   */
  write({ seq, facts }: Pick<Entry, 'seq' | 'facts'>): void {
    this.#who.clear()
    for (const fact of facts) this.#add(fact)
    for (const who of this.#who) this.#sql.insert.run(who, seq)
  }

  #add(fact: Fact): void {
    const audience = factRowOf(fact).audience
    if (audience.to === 'everyone') this.#who.add(concernsKeyOfEveryone)
    else if (audience.to === 'agents') this.#addAgents(audience.agentNames(fact, this.#known))
    // Readers find a message by its conversation, so a later fact about it gets a row for the conversation.
    else if (audience.to === 'readers' && fact.type !== 'message.created') {
      const conversation = this.#sql.place.get(audience.messageId(fact))?.[1]
      // A pruned message is not in the table any more, and gets no row.
      if (conversation !== undefined) this.#who.add(concernsKeyOfConversation(conversation as number))
    }
  }

  /** Adds the row keys of agents. Agents of other workspaces and the daemon have no row; nobody looks up entries for them. */
  #addAgents(names: Iterable<string | undefined>): void {
    for (const name of names) {
      const key = name === undefined ? undefined : this.#keyOf(name)
      if (key !== undefined) this.#who.add(key)
    }
  }
}

/** Reads all entries except those that only send a message. Those are the majority, and have no rows in `concerns`. */
const others = `SELECT seq, facts FROM journal WHERE seq > ? AND facts NOT LIKE '[{"type":"message.created"%' ORDER BY seq LIMIT (? + 0)`
const chunk = 1_000

/** Fills the table `concerns` from a journal that was written before the table existed. A million entries, half of them plain sends, take about ten seconds. */
export function fillConcerns(database: Database): void {
  const agents = new Map(database.prepare('SELECT name, key FROM agents').all() as [string, number][])
  const concerns = new ConcernRows(database, (name) => agents.get(name))
  const read = database.prepare(others)
  for (const rows of pagesOf<Row>(chunk, (last) => read.all(last?.[0] ?? 0, chunk)))
    for (const [seq, facts] of rows as [number, string][]) concerns.write({ seq, facts: JSON.parse(facts) })
}
