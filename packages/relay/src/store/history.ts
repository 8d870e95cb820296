// What was said, for those who look back: conversations by their last message, and pages of one by its numbers. It decides nothing.

import type { HistoryMessage } from '@agent-relay/sdk/protocol'
import type { MessageHead, Waiting } from '../core/view.ts'
import type { Database, Statement } from './database.ts'
import type { Queries } from './queries.ts'
import type { Tables } from './tables.ts'
import { headColumns, type SqliteView } from './view.ts'

const statements = {
  // One look into the index for each conversation; those without a message come last.
  latest: `SELECT c.name, m.seq FROM conversations c LEFT JOIN messages m ON m.conversation = c.key
    AND m.n = (SELECT max(n) FROM messages WHERE conversation = c.key) ORDER BY m.seq DESC`,
  upward: `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.n < ?3
    ORDER BY m.n LIMIT (?4 + 0)`,
  downward: `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.n < ?3
    ORDER BY m.n DESC LIMIT (?4 + 0)`,
  sent: `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.sender = ?1 AND m.seq > ?2 ORDER BY m.seq DESC LIMIT (?3 + 0)`,
  counts: 'SELECT count(offered_at), count(read_at) FROM receipts WHERE message = ?',
  reactions: 'SELECT emoji, agent FROM reactions WHERE message = ? ORDER BY at, agent',
  preview: 'SELECT substr(body, 1, ?2) FROM messages WHERE seq = ?1',
}

/** No index tells what one agent has sent: so many of the newest entries are looked through. */
const lookBackMax = 50_000

export interface Span {
  after: number
  before: number
  limit: number
  bytesMax: number
  /** From the low end, or from the high one. */
  isUpward: boolean
}

export class History {
  readonly #tables: Tables
  readonly #view: SqliteView
  readonly #queries: Queries
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: Tables, view: SqliteView, queries: Queries) {
    this.#tables = tables
    this.#view = view
    this.#queries = queries
    this.#sql = database.prepareAll(statements)
  }

  /** Every conversation, the one that was spoken in last first, with the number of that entry. */
  latest(): { name: string; seq: number | undefined }[] {
    return this.#sql.latest.all().map(([name, seq]) => ({ name: name as string, seq: (seq ?? undefined) as number }))
  }

  memberCount(conversation: string): number {
    return this.#queries.memberCount(this.#tables.conversation(conversation)?.key ?? -1)
  }

  preview(seq: number, chars: number): string {
    return this.#sql.preview.get(seq, chars)?.[0] as string
  }

  /** Heads in the order of their numbers, as many as fit: at least one. */
  span(conversation: string, { after, before, limit, bytesMax, isUpward }: Span): MessageHead[] {
    const key = this.#tables.conversation(conversation)?.key ?? -1
    const rows = this.#sql[isUpward ? 'upward' : 'downward'].all(key, after, before, limit)
    const heads: MessageHead[] = []
    let bytes = 0
    for (const row of rows) {
      bytes += row[9] as number
      if (heads.length > 0 && bytes > bytesMax) break
      heads.push(this.#view.head(row))
    }
    return isUpward ? heads : heads.reverse()
  }

  /** Newest first. */
  sent(agent: string, lastSeq: number, limit: number): Waiting[] {
    return this.#sql.sent.all(agent, lastSeq - lookBackMax, limit).map((row) => ({
      head: this.#view.head(row),
      bodyBytes: row[9] as number,
      receipt: undefined,
    }))
  }

  /** With what became of it; `reader` is whose own receipt is told. */
  whole(head: MessageHead, reader: string): HistoryMessage {
    const [offered, read] = this.#sql.counts.get(head.seq) as [number, number]
    const shown: HistoryMessage = { ...this.#queries.whole(head), n: head.n, offered, read }
    const reactions = new Map<string, string[]>()
    for (const [emoji, by] of this.#sql.reactions.all(head.seq) as [string, string][])
      reactions.set(emoji, [...(reactions.get(emoji) ?? []), by])
    if (reactions.size > 0) shown.reactions = [...reactions].map(([emoji, agents]) => ({ emoji, agents }))
    if (this.#view.isRecipient(reader, head)) {
      const receipt = this.#view.receipt(reader, head)
      shown.receipt = !receipt ? 'stored' : receipt.readAt === undefined ? 'offered' : 'read'
    }
    return shown
  }
}
