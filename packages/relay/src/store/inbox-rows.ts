// Reads the messages that wait for an agent, or all that it ever received, from the agent's stays in conversations. Each step reads a limited number of rows,
// even if many are read already or do not match the filter. An undefined item marks where the caller may pause to let other work run.

import { lastNumberThatFits } from '../core/halving.ts'
import type { Steps } from '../core/steps.ts'
import type { InboxFilter, InboxView, MessageHead, ScanProgress, WaitingMessage } from '../core/view.ts'
import { headColumns, receiptColumns, receiptFromRow } from './columns.ts'
import type { Database, Row, Statement } from './database.ts'
import type { KnownAgent, TablesMirror } from './tables.ts'

/** Bodies up to this length in bytes are read together with their rows. Longer ones are not: up to 256 rows are read at once, often only to count them. */
const shortBodyBytes = 2_048
// Selects the body if it is short, otherwise its length. Both share one column, since reading columns is half the cost of a list of fifty rows.
const shortBody = `CASE WHEN octet_length(m.body) <= ${shortBodyBytes} THEN m.body ELSE octet_length(m.body) END`
const waitingColumns = `${headColumns}, ${shortBody}, ${receiptColumns}`
const waitingFrom = 'FROM messages m LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ?1'
const filters = '(?5 IS NULL OR m.sender = ?5) AND (?6 IS NULL OR m.thread = ?6 OR m.id = ?6)'

const statements = {
  stays: 'SELECT conversation, joined_n, left_n, cursor FROM members WHERE agent = ?',
  staysIn: 'SELECT conversation, joined_n, left_n, cursor FROM members WHERE agent = ? AND conversation = ?',
  unread: `SELECT ${waitingColumns} ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4 AND ${filters}
    AND m.sender <> ?7 AND r.read_at IS NULL ORDER BY m.n LIMIT (?8 + 0)`,
  // Reads the first few unread messages of every stay (the agent's time in a conversation). CROSS JOIN makes SQLite read the tables in this order, for which
  // there are indexes.
  firstUnread: `SELECT ${waitingColumns} FROM members s CROSS JOIN messages m ON m.conversation = s.conversation
    LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ?1 WHERE s.agent = ?1 AND m.n > s.cursor AND m.n <= s.cursor + ?2
    AND (s.left_n IS NULL OR m.n <= s.left_n) AND m.sender <> ?3 AND r.read_at IS NULL ORDER BY s.conversation, s.joined_n, m.n`,
  unreadCount: `SELECT count(*) FROM (SELECT 1 ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4
    AND m.sender <> ?5 AND r.read_at IS NULL LIMIT (?6 + 0))`,
  // Finds the entry of the first message at or above a number: the message with that number may have been pruned.
  seqOf: 'SELECT seq FROM messages WHERE conversation = ? AND n >= ? ORDER BY n LIMIT 1',
  firstAbove: 'SELECT n FROM messages WHERE conversation = ? AND n > ? ORDER BY n LIMIT 1',
  received: `SELECT ${waitingColumns} ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4 AND ${filters}
    AND m.sender <> ?7 ORDER BY m.n DESC LIMIT (?8 + 0)`,
}

/** Rows that the first statement of a walk reads, and the maximum for later ones: a short look costs little, and a long walk reads in larger steps. */
const chunkFirst = 16
const chunkMax = 256
/** If an agent has this many stays (from, to), one statement reads the first messages of all of them. With more stays it would read too many rows. */
const [togetherMin, togetherMax] = [4, 200]
const togetherN = 4
/** Number of message numbers that one statement covers, whether or not the messages match the filter. */
const windowN = 1_024
/** The fixed cost of one statement, expressed as a number of rows. */
const statementRows = 8

type InboxKind = 'unread' | 'received'

/** The part of a stay (an agent's time in a conversation) to read: message numbers above `from`, up to `to`. */
interface StaySpan {
  conversation: number
  from: number
  to: number
}

/** An iterator over the messages of one stay, in order. An undefined item marks where the caller may pause. */
type Walk = Iterator<WaitingMessage | undefined>

export class InboxRows implements InboxView {
  readonly #tables: TablesMirror
  readonly #headOf: (row: Row) => MessageHead
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: TablesMirror, headOf: (row: Row) => MessageHead) {
    this.#tables = tables
    this.#headOf = headOf
    this.#sql = database.prepareAll(statements)
  }

  /** Yields the agent's unread messages, oldest first. */
  unread(agent: string, filter: InboxFilter, progress?: ScanProgress): Iterable<WaitingMessage | undefined> {
    return mergeBySeq(this.#walks(agent, filter, 'unread', progress), 1)
  }

  /** Yields the messages that the agent has received, newest first. */
  received(agent: string, filter: InboxFilter, progress?: ScanProgress): Iterable<WaitingMessage | undefined> {
    return mergeBySeq(this.#walks(agent, filter, 'received', progress), -1)
  }

  /** Counts unread messages up to `max`. SQLite counts them: fetching the rows would cost ten times as much. */
  *unreadCount(agent: string, max: number, conversation?: string): Steps<number> {
    const reader = this.#tables.agents.get(agent)
    let count = 0
    for (const { conversation: key, from, to } of this.#stays(reader, { conversation }, 'unread')) {
      for (let low = from; low < to; low += windowN) {
        const high = Math.min(to, low + windowN)
        const found = this.#sql.unreadCount.get(reader?.key as number, key, low, high, agent, max - count)
        count += Number(found?.[0])
        if (count >= max) return count
        yield
      }
    }
    return count
  }

  /** Returns one lazy iterator for each of the agent's stays that can hold messages to read. */
  #walks(agent: string, filter: InboxFilter, which: InboxKind, progress: ScanProgress = { rowsPassed: 0 }): Walk[] {
    const reader = this.#tables.agents.get(agent) as KnownAgent
    const stays = this.#stays(reader, filter, which)
    const isPlain = which === 'unread' && (filter.from ?? filter.thread ?? filter.afterSeq) === undefined
    if (!isPlain || stays.length < togetherMin || stays.length > togetherMax)
      return stays.map((stay) =>
        this.#walk(reader, stay, filter, { which, progress }, stays.length > togetherMax ? togetherN : chunkFirst),
      )
    const first = new Map<number, Row[]>()
    for (const row of this.#sql.firstUnread.all(reader.key, togetherN, agent)) {
      const rows = first.get(row[3] as number)
      if (rows) rows.push(row)
      else first.set(row[3] as number, [row])
    }
    return stays.map((stay) => this.#walkOn(reader, stay, progress, first.get(stay.conversation)))
  }

  /** Iterates over one stay, beginning with rows that were read already. Two stays in one conversation never overlap. */
  *#walkOn(
    reader: KnownAgent,
    { conversation, from, to }: StaySpan,
    progress: ScanProgress,
    first: Row[] = [],
  ): Walk & Iterable<WaitingMessage | undefined> {
    const known = Math.min(from + togetherN, to)
    for (const row of first) {
      const n = row[4] as number
      if (n > from && n <= known) yield this.#waiting(row)
    }
    if (known < to) yield* this.#walk(reader, { conversation, from: known, to }, {}, { which: 'unread', progress })
  }

  #stays(reader: KnownAgent | undefined, filter: InboxFilter, which: InboxKind): StaySpan[] {
    if (!reader) return []
    const rows =
      filter.conversation === undefined
        ? this.#sql.stays.all(reader.key)
        : this.#sql.staysIn.all(reader.key, this.#tables.conversation(filter.conversation)?.key ?? -1)
    const stays: StaySpan[] = []
    for (const [conversation, joined, left, cursor] of rows as [number, number, number | null, number][]) {
      const { lastN } = this.#tables.conversationOf(conversation)
      const from = which === 'unread' ? cursor : joined
      const to = Math.min(left ?? lastN, lastN)
      // Most messages of a long span may have been pruned, so the iteration begins at the first one that still exists.
      const start = to - from > windowN ? this.#before(conversation, from) : from
      if (start < to) stays.push({ conversation, from: start, to })
    }
    return stays
  }

  /** Returns the number before the first message after `from` that still exists. */
  #before(conversation: number, from: number): number {
    const first = this.#sql.firstAbove.get(conversation, from)?.[0]
    return first === undefined ? from : (first as number) - 1
  }

  *#walk(
    reader: KnownAgent,
    { conversation, from, to }: StaySpan,
    {
      from: sender = null,
      thread = null,
      beforeSeq,
      afterSeq,
    }: { from?: string | null; thread?: string | null; beforeSeq?: number; afterSeq?: number },
    { which, progress }: { which: InboxKind; progress: ScanProgress },
    chunkSize = chunkFirst,
  ): Generator<WaitingMessage | undefined, void, void> {
    const isUpward = which === 'unread'
    let chunk = chunkSize
    const last = beforeSeq === undefined ? to : this.#lastBefore(beforeSeq, { conversation, from, to }, progress)
    const first = afterSeq === undefined ? from : this.#lastBefore(afterSeq + 1, { conversation, from, to }, progress)
    for (let [low, high] = [first, last]; low < high; chunk = Math.min(chunk * 4, chunkMax)) {
      const bottom = isUpward ? low : Math.max(low, high - windowN)
      const top = isUpward ? Math.min(high, low + windowN) : high
      const rows = this.#sql[which].all(
        ...([reader.key, conversation, bottom, top, sender, thread, reader.name, chunk] as const),
      )
      for (const row of rows) yield this.#waiting(row)
      const lastN = rows[rows.length - 1]?.[4] as number
      const before = high - low
      if (isUpward) low = rows.length < chunk ? top : lastN
      else high = rows.length < chunk ? bottom : lastN - 1
      progress.rowsPassed += statementRows + before - (high - low) - rows.length
      yield undefined
    }
  }

  /** Returns the number of the stay's last message before an entry. Message numbers rise with entry numbers, so a binary search finds it. */
  #lastBefore(seq: number, { conversation, from, to }: StaySpan, progress: ScanProgress): number {
    const isBefore = (n: number) => {
      progress.rowsPassed++
      return (this.#sql.seqOf.get(conversation, n)?.[0] as number) < seq
    }
    return isBefore(to) ? to : lastNumberThatFits(from, to - 1, isBefore)
  }

  #waiting(row: Row): WaitingMessage {
    const [head, receipt, short] = [this.#headOf(row), receiptFromRow(row, 10), row[9] as string | number]
    if (typeof short === 'number') return { head, bodyBytes: short, receipt }
    return { head, bodyBytes: Buffer.byteLength(short), body: short, receipt }
  }
}

/** Merges iterators that are each in order. Few of them have any message, so comparing the first items of all of them is cheap. */
function* mergeBySeq(walks: Walk[], direction: 1 | -1): Iterable<WaitingMessage | undefined> {
  const heads: { next: WaitingMessage; walk: Walk }[] = []
  for (const walk of walks) {
    yield undefined
    const next = yield* following(walk)
    if (next) heads.push({ next, walk })
  }
  while (heads.length > 0) {
    let best = 0
    for (let i = 1; i < heads.length; i++) {
      if (((heads[i]?.next.head.seq as number) - (heads[best]?.next.head.seq as number)) * direction < 0) best = i
    }
    const head = heads[best] as { next: WaitingMessage; walk: Walk }
    yield head.next
    const next = yield* following(head.walk)
    if (next) head.next = next
    else heads.splice(best, 1)
  }
}

/** Returns the next message of the iterator, or undefined at its end. Pauses where the iterator pauses. */
function* following(walk: Walk): Steps<WaitingMessage | undefined> {
  for (;;) {
    const { done, value } = walk.next()
    if (done || value) return done ? undefined : value
    yield undefined
  }
}
