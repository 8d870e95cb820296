// Reads history: conversations in the order of their last messages, and pages of one conversation by message numbers.

import type { HistoryMessage } from '@agent-relay/sdk/protocol'
import type { Steps } from '../core/steps.ts'
import type { MessageHead, WaitingMessage } from '../core/view.ts'
import { headColumns, receiptStateOf } from './columns.ts'
import { type Database, pagesOf, type Row, type Statement } from './database.ts'
import type { Queries } from './queries.ts'
import type { TablesMirror } from './tables.ts'
import type { SqliteView } from './view.ts'

const spanOf = `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.conversation = ?1 AND m.n > ?2 AND m.n < ?3`

const statements = {
  conversations: `SELECT c.key, c.name, coalesce((SELECT seq FROM messages WHERE conversation = c.key ORDER BY n DESC LIMIT 1), 0)
    FROM conversations c WHERE c.key > ? AND c.name NOT LIKE '-%' ORDER BY c.key LIMIT (? + 0)`,
  upward: `${spanOf} ORDER BY m.n LIMIT (?4 + 0)`,
  downward: `${spanOf} ORDER BY m.n DESC LIMIT (?4 + 0)`,
  stays: `SELECT joined_n, left_n FROM members WHERE agent = ?1 AND conversation = ?2 AND joined_n < ?4 AND coalesce(left_n, ?4) > ?3
    ORDER BY joined_n`,
  sent: `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.sender = ?1 AND m.seq > ?2 AND m.seq <= ?3 ORDER BY m.seq DESC`,
  counts: 'SELECT count(offered_at), count(read_at) FROM receipts WHERE message = ?',
  reactions: 'SELECT emoji, agent FROM reactions WHERE message = ? ORDER BY seq, at, agent',
  idsAfter: 'SELECT m.id FROM messages m JOIN conversations c ON c.key = m.conversation WHERE c.name = ? AND m.n > ?',
  preview: 'SELECT substr(body, 1, ?2) FROM messages WHERE seq = ?1',
}

/**
 * Limits for finding the messages that an agent has sent, for which there is no index: how many of the newest entries are read at most, and how many in one
 * step.
 */
const [lookBackMax, lookBackStep] = [50_000, 1_000]
/** Number of conversations that are read in one step. */
const conversationsPerStep = 200

export interface MessageSpan {
  after: number
  before: number
  limit: number
  bytesMax: number
  /** Whether the page begins at the lowest numbers of the span, not at the highest. */
  isUpward: boolean
  /** The agent for whom the messages are read, which limits them to its stays. Unset: all messages are returned. */
  reader?: string
}

export class History {
  readonly #tables: TablesMirror
  readonly #view: SqliteView
  readonly #queries: Queries
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: TablesMirror, view: SqliteView, queries: Queries) {
    this.#tables = tables
    this.#view = view
    this.#queries = queries
    this.#sql = database.prepareAll(statements)
  }

  /** Returns conversations, each with the journal number of its last message, newest first: all, or only those named. */
  *latestConversations(names?: Iterable<string>): Steps<{ name: string; seq: number }[]> {
    const found: { name: string; seq: number }[] = []
    for (const each of names === undefined ? this.#all() : this.#named(names)) {
      if (each) found.push({ name: each.name, seq: each.lastSeq })
      yield
    }
    return found.sort((a, b) => b.seq - a.seq)
  }

  /** Returns the ids of all messages of a conversation above a number. Another copy of the workspace is compared by these ids. */
  idsAfter(conversation: string, n: number): string[] {
    return this.#sql.idsAfter.all(conversation, n).map(([id]) => id as string)
  }

  *#named(names: Iterable<string>) {
    for (const name of names) yield this.#tables.conversation(name)
  }

  /** Reads all conversations from the database. Loading them through the mirror in memory would push out those that are in use. */
  *#all(): Iterable<{ name: string; lastSeq: number }> {
    const read = (last?: Row) => this.#sql.conversations.all(last?.[0] ?? 0, conversationsPerStep)
    for (const rows of pagesOf(conversationsPerStep, read))
      for (const [, name, lastSeq] of rows as [number, string, number][]) yield { name, lastSeq }
  }

  bodyPreview(seq: number, chars: number): string {
    return this.#sql.preview.get(seq, chars)?.[0] as string
  }

  /**
   * Returns the heads of messages, in the order of their numbers: as many as fit into the page but at least one. With a `reader`, only those that it may see.
   */
  messagesInSpan(
    conversation: string,
    { after, before, limit, bytesMax, isUpward, reader }: MessageSpan,
  ): MessageHead[] {
    const key = this.#tables.conversation(conversation)?.key ?? -1
    const spans = reader === undefined ? [{ after, before }] : this.#seenSpans(key, reader, { after, before })
    const rows: Row[] = []
    for (const span of isUpward ? spans : spans.reverse()) {
      if (rows.length >= limit) break
      const sql = this.#sql[isUpward ? 'upward' : 'downward']
      rows.push(...sql.all(key, span.after, span.before, limit - rows.length))
    }
    const heads: MessageHead[] = []
    let bytes = 0
    for (const row of rows) {
      bytes += row[9] as number
      if (heads.length > 0 && bytes > bytesMax) break
      heads.push(this.#view.messageHead(row))
    }
    return isUpward ? heads : heads.reverse()
  }

  /**
   * Returns the parts of a span that lie in the reader's stays (its times in the conversation), in order. A single statement over all stays would sort the
   * whole conversation for each page.
   */
  #seenSpans(key: number, reader: string, { after, before }: { after: number; before: number }) {
    const stays = this.#sql.stays.all(this.#tables.agents.get(reader)?.key ?? -1, key, after, before)
    return (stays as [number, number | null][]).map(([joined, left]) => ({
      after: Math.max(joined, after),
      before: Math.min(left === null ? before : left + 1, before),
    }))
  }

  /** Yields the messages that an agent has sent after a journal entry, newest first, and undefined where the caller may pause. */
  *messagesSentBy(agent: string, after: number, lastSeq: number): Generator<WaitingMessage | undefined, void, void> {
    for (let to = lastSeq; to > Math.max(after, lastSeq - lookBackMax); to -= lookBackStep) {
      for (const row of this.#sql.sent.all(agent, to - lookBackStep, to))
        yield { head: this.#view.messageHead(row), bodyBytes: row[9] as number, receipt: undefined }
      yield undefined
    }
  }

  /** Returns a message with its body, receipts and reactions; `reader` is the agent whose own receipt is shown. */
  wholeMessage(head: MessageHead, reader: string): HistoryMessage {
    const [offered, read] = this.#sql.counts.get(head.seq) as [number, number]
    const shown: HistoryMessage = { ...this.#queries.messageWithBody(head), n: head.n, offered, read }
    const reactions = new Map<string, string[]>()
    for (const [emoji, by] of this.#sql.reactions.all(head.seq) as [string, string][])
      reactions.set(emoji, [...(reactions.get(emoji) ?? []), by])
    if (reactions.size > 0) shown.reactions = [...reactions].map(([emoji, agents]) => ({ emoji, agents }))
    if (this.#view.isRecipient(reader, head)) shown.receipt = receiptStateOf(this.#view.receipt(reader, head))
    return shown
  }
}
