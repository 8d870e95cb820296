// The rules' window on the tables, over SQLite. Reads only; what is hot comes from the mirror in tables.ts.

import type { Policy, Route } from '@agent-relay/sdk/protocol'
import { directMembers } from '../core/conversations.ts'
import type {
  ActionRow,
  AgentRow,
  InboxFilter,
  InvocationRow,
  MessageHead,
  ReceiptRow,
  View,
  Waiting,
} from '../core/view.ts'
import { ActionRows } from './action-rows.ts'
import type { Database, Row, Statement } from './database.ts'
import { RunRows } from './run-rows.ts'
import type { AgentEntry, Tables } from './tables.ts'
import { WorkerRows } from './worker-rows.ts'

export const headColumns = 'm.seq, m.id, m.at, m.conversation, m.n, m.sender, m.kind, m.thread, m.reply_to'
/** A walk reads up to 256 rows at once, and often only to count them. */
const shortBodyBytes = 2_048
export const receiptColumns = 'r.route, r.session, r.until, r.offered_at, r.read_at'
// The body if it is short, else its length: of a look at fifty rows, reading the columns is half the cost.
const shortBody = `CASE WHEN octet_length(m.body) <= ${shortBodyBytes} THEN m.body ELSE octet_length(m.body) END`
const waitingColumns = `${headColumns}, ${shortBody}, ${receiptColumns}`
const waitingFrom = 'FROM messages m LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ?1'
const filters = '(?5 IS NULL OR m.sender = ?5) AND (?6 IS NULL OR m.thread = ?6 OR m.id = ?6)'

// `LIMIT (? + 0)`, here and elsewhere: SQLite 3.53 plans by a bare limit's value, and so prepares the statement anew at every run (50 µs).
const statements = {
  policy: "SELECT value FROM meta WHERE name = 'policy'",
  message: `SELECT ${headColumns} FROM messages m WHERE m.id = ?`,
  sentAt: 'SELECT at FROM messages WHERE conversation = ? AND n = ?',
  isMember: 'SELECT 1 FROM members WHERE agent = ? AND conversation = ? AND left_n IS NULL',
  wasMember:
    'SELECT 1 FROM members WHERE agent = ?1 AND conversation = ?2 AND joined_n < ?3 AND (left_n IS NULL OR left_n >= ?3)',
  receipt: 'SELECT route, session, until, offered_at, read_at FROM receipts WHERE message = ? AND agent = ?',
  reacted: 'SELECT 1 FROM reactions WHERE message = ? AND agent = ? AND emoji = ?',
  stays: 'SELECT conversation, joined_n, left_n, cursor FROM members WHERE agent = ?',
  unread: `SELECT ${waitingColumns} ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4 AND ${filters}
    AND m.sender <> ?7 AND r.read_at IS NULL ORDER BY m.n LIMIT (?8 + 0)`,
  // The first few of every stay at once. CROSS JOIN: in this order, by the two indexes.
  firstUnread: `SELECT ${waitingColumns} FROM members s CROSS JOIN messages m ON m.conversation = s.conversation
    LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ?1 WHERE s.agent = ?1 AND m.n > s.cursor AND m.n <= s.cursor + ?2
    AND (s.left_n IS NULL OR m.n <= s.left_n) AND m.sender <> ?3 AND r.read_at IS NULL ORDER BY s.conversation, s.joined_n, m.n`,
  unreadCount: `SELECT count(*) FROM (SELECT 1 ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4
    AND m.sender <> ?5 AND r.read_at IS NULL LIMIT (?6 + 0))`,
  received: `SELECT ${waitingColumns} ${waitingFrom} WHERE m.conversation = ?2 AND m.n > ?3 AND m.n <= ?4 AND ${filters}
    AND m.sender <> ?7 ORDER BY m.n DESC LIMIT (?8 + 0)`,
}

/** A first look costs little; a long walk reads in larger steps. */
const chunkFirst = 16
const chunkMax = 256
/** From so many conversations with news on, one statement brings the first few messages of each; beyond the second, rows get too many. */
const [togetherMin, togetherMax] = [4, 200]
const togetherN = 4

export class SqliteView implements View {
  /** Actions and invocations. */
  readonly rows: ActionRows
  readonly workers: WorkerRows
  readonly runs: RunRows
  readonly #tables: Tables
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: Tables) {
    this.#tables = tables
    this.rows = new ActionRows(database)
    this.workers = new WorkerRows(database)
    this.runs = new RunRows(database)
    this.#sql = database.prepareAll(statements)
  }

  /** By default nobody sees another's terminal, and nobody from outside writes here. */
  policy(): Policy {
    const stored = this.#sql.policy.get()?.[0]
    return stored === undefined ? { terminal: {}, writers: [] } : JSON.parse(stored as string)
  }

  agent(name: string): AgentRow | undefined {
    return this.#tables.agents.get(name)
  }

  agentOfHandle(handle: string): AgentRow | undefined {
    return this.#tables.handles.get(handle)
  }

  agents(): Iterable<AgentRow> {
    return this.#tables.agents.values()
  }

  channels(): string[] {
    return this.#tables.channels()
  }

  lastNumber(conversation: string): number | undefined {
    return this.#tables.conversation(conversation)?.lastN
  }

  isMember(agent: string, conversation: string): boolean {
    const [a, c] = [this.#tables.agents.get(agent), this.#tables.conversation(conversation)]
    return a !== undefined && c !== undefined && this.#sql.isMember.get(a.key, c.key) !== undefined
  }

  message(id: string): MessageHead | undefined {
    const row = this.#sql.message.get(id)
    return row && this.head(row)
  }

  sentAt(conversation: string, n: number): number | undefined {
    const found = this.#tables.conversation(conversation)
    return found && (this.#sql.sentAt.get(found.key, n)?.[0] as number | undefined)
  }

  isRecipient(agent: string, { conversation, n, from }: MessageHead): boolean {
    const reader = this.#tables.agents.get(agent)
    if (!reader || agent === from) return false
    const direct = directMembers(conversation)
    if (direct.length > 0) return direct.includes(agent)
    const { key } = this.#tables.conversation(conversation) as { key: number }
    return this.#sql.wasMember.get(reader.key, key, n) !== undefined
  }

  receipt(agent: string, message: MessageHead): ReceiptRow | undefined {
    const reader = this.#tables.agents.get(agent)
    return reader && receiptOf(this.#sql.receipt.get(message.seq, reader.key))
  }

  hasReacted(agent: string, message: MessageHead, emoji: string): boolean {
    return this.#sql.reacted.get(message.seq, agent, emoji) !== undefined
  }

  actions(): Iterable<ActionRow> {
    return this.rows.all()
  }

  action(name: string): ActionRow | undefined {
    return this.rows.byName(name)
  }

  actionOfTool(tool: string): ActionRow | undefined {
    return this.rows.byTool(tool)
  }

  invocation(id: string): InvocationRow | undefined {
    return this.rows.invocation(id)
  }

  runningInvocations(): InvocationRow[] {
    return this.rows.running()
  }

  unread(agent: string, filter: InboxFilter): Iterable<Waiting> {
    return mergeBySeq(this.#walks(agent, filter, 'unread'), 1)
  }

  received(agent: string, filter: InboxFilter): Iterable<Waiting> {
    return mergeBySeq(this.#walks(agent, filter, 'received'), -1)
  }

  /** Counted where the rows are: every row that came here to be counted would cost ten times as much. */
  unreadCount(agent: string, max: number, conversation?: string): number {
    const reader = this.#tables.agents.get(agent)
    let count = 0
    for (const { conversation: key, from, to } of this.#stays(reader, { conversation }, 'unread')) {
      const found = this.#sql.unreadCount.get(reader?.key as number, key, from, to, agent, max - count)
      count += Number(found?.[0])
      if (count >= max) break
    }
    return count
  }

  /** One lazy walk for each stay that can hold something. */
  #walks(agent: string, filter: InboxFilter, which: 'unread' | 'received'): Iterator<Waiting>[] {
    const reader = this.#tables.agents.get(agent) as AgentEntry
    const stays = this.#stays(reader, filter, which)
    const isPlain = which === 'unread' && filter.from === undefined && filter.thread === undefined
    if (!isPlain || stays.length < togetherMin || stays.length > togetherMax)
      return stays.map(({ conversation, from, to }) => this.#walk(reader, conversation, from, to, filter, which))
    const first = new Map<number, Row[]>()
    for (const row of this.#sql.firstUnread.all(reader.key, togetherN, agent)) {
      const rows = first.get(row[3] as number)
      if (rows) rows.push(row)
      else first.set(row[3] as number, [row])
    }
    return stays.map(({ conversation, from, to }) =>
      this.#walkOn(reader, conversation, from, to, first.get(conversation)),
    )
  }

  /** Through the rows that are there already, then on as any walk. Two stays in one conversation never overlap. */
  *#walkOn(reader: AgentEntry, conversation: number, from: number, to: number, first: Row[] = []): Iterator<Waiting> {
    const known = Math.min(from + togetherN, to)
    for (const row of first) {
      const n = row[4] as number
      if (n > from && n <= known) yield this.#waiting(row)
    }
    if (known < to) yield* this.#walk(reader, conversation, known, to, {}, 'unread')
  }

  #stays(reader: AgentEntry | undefined, filter: InboxFilter, which: 'unread' | 'received') {
    if (!reader) return []
    const only = filter.conversation === undefined ? undefined : this.#tables.conversation(filter.conversation)?.key
    if (filter.conversation !== undefined && only === undefined) return []
    const stays: { conversation: number; from: number; to: number }[] = []
    for (const [conversation, joined, left, cursor] of this.#sql.stays.all(reader.key) as [
      number,
      number,
      number | null,
      number,
    ][]) {
      if (only !== undefined && conversation !== only) continue
      const { lastN } = this.#tables.conversationOf(conversation)
      const from = which === 'unread' ? cursor : joined
      const to = Math.min(left ?? lastN, lastN)
      if (from < to) stays.push({ conversation, from, to })
    }
    return stays
  }

  *#walk(
    reader: AgentEntry,
    conversation: number,
    from: number,
    to: number,
    filter: InboxFilter,
    which: 'unread' | 'received',
  ) {
    let [low, high] = [from, to]
    for (let chunk = chunkFirst; ; chunk = Math.min(chunk * 4, chunkMax)) {
      const rows = this.#sql[which].all(
        reader.key,
        conversation,
        low,
        high,
        filter.from ?? null,
        filter.thread ?? null,
        reader.name,
        chunk,
      )
      for (const row of rows) yield this.#waiting(row)
      if (rows.length < chunk) return
      const lastN = rows[rows.length - 1]?.[4] as number
      if (which === 'unread') low = lastN
      else high = lastN - 1
    }
  }

  #waiting(row: Row): Waiting {
    const [head, receipt, short] = [this.head(row), receiptOf(row, 10), row[9] as string | number]
    if (typeof short === 'number') return { head, bodyBytes: short, receipt }
    return { head, bodyBytes: Buffer.byteLength(short), body: short, receipt }
  }

  head(row: Row): MessageHead {
    const [seq, id, at, conversation, n, from, kind, thread, replyTo] = row
    const { name } = this.#tables.conversationOf(conversation as number)
    const head = { seq, id, at, conversation: name, n, from, kind } as MessageHead
    if (thread !== null) head.thread = thread as string
    if (replyTo !== null) head.replyTo = replyTo as string
    return head
  }
}

/** The columns of `receiptColumns`, which begin at `from`. */
export function receiptOf(row: Row | undefined, from = 0): ReceiptRow | undefined {
  if (!row || (row[from + 3] === null && row[from + 4] === null)) return undefined
  return {
    route: (row[from] ?? undefined) as Route | undefined,
    session: (row[from + 1] ?? undefined) as string | undefined,
    until: (row[from + 2] ?? undefined) as number | undefined,
    offeredAt: (row[from + 3] ?? undefined) as number | undefined,
    readAt: (row[from + 4] ?? undefined) as number | undefined,
  }
}

/** Several walks, each in order, as one in order. Few walks have anything, so the least is found by looking at all. */
function* mergeBySeq(walks: Iterator<Waiting>[], direction: 1 | -1): Iterable<Waiting> {
  const heads: { next: Waiting; walk: Iterator<Waiting> }[] = []
  for (const walk of walks) {
    const first = walk.next()
    if (!first.done) heads.push({ next: first.value, walk })
  }
  while (heads.length > 0) {
    let best = 0
    for (let i = 1; i < heads.length; i++) {
      if (((heads[i]?.next.head.seq as number) - (heads[best]?.next.head.seq as number)) * direction < 0) best = i
    }
    const head = heads[best] as { next: Waiting; walk: Iterator<Waiting> }
    yield head.next
    const following = head.walk.next()
    if (following.done) heads.splice(best, 1)
    else head.next = following.value
  }
}
