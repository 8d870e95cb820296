// What callers may read: messages with their bodies, receipts, channels, counts. It answers rows as the protocol's words; it decides nothing.

import type { InboxMessage, Message, OutputOf, Receipt, Route } from '@agent-relay/sdk/protocol'
import { addressOf, directMembers, isChannel } from '../core/conversations.ts'
import { filterOf, page } from '../core/inbox.ts'
import type { MessageHead, ReceiptRow, Waiting } from '../core/view.ts'
import type { Database, Row, Statement } from './database.ts'
import { type Tables, withoutNulls } from './tables.ts'
import { headColumns, receiptColumns, receiptOf, type SqliteView } from './view.ts'

const statements = {
  body: 'SELECT body FROM messages WHERE seq = ?',
  inboxMessage: `SELECT ${headColumns}, m.body, ${receiptColumns}
    FROM messages m LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ? WHERE m.id = ?`,
  bySeq: `SELECT ${headColumns}, m.body FROM messages m WHERE m.seq = ?`,
  thread: `SELECT ${headColumns}, octet_length(m.body) FROM messages m WHERE m.id = ? OR m.thread = ? ORDER BY m.seq`,
  receipts: 'SELECT agent, route, offered_at, read_at FROM receipts WHERE message = ?',
  recipients: `SELECT agent FROM members WHERE conversation = ?1 AND joined_n < ?2 AND (left_n IS NULL OR left_n >= ?2) ORDER BY agent`,
  memberCount: 'SELECT count(*) FROM members WHERE conversation = ? AND left_n IS NULL',
  conversations: 'SELECT DISTINCT conversation FROM members WHERE agent = ? AND left_n IS NULL',
  token: 'SELECT agent FROM tokens WHERE hash = ? AND (until IS NULL OR until > ?)',
  messageCount: 'SELECT count(*), max(seq) FROM messages WHERE seq > ?',
  threadSince: `SELECT ${headColumns}, m.body FROM messages m WHERE m.thread = ? AND m.seq > ? AND m.sender <> ? ORDER BY m.seq LIMIT 100`,
  conversationSince: `SELECT ${headColumns}, m.body FROM messages m WHERE m.conversation = ? AND m.n > ? AND m.sender <> ?
    ORDER BY m.n LIMIT 100`,
}

/** A count beyond this is not worth its cost: "1000" then means "1000 or more". */
const unreadCountMax = 1_000

export class Queries {
  readonly #tables: Tables
  readonly #view: SqliteView
  readonly #sql: Record<keyof typeof statements, Statement>
  #counted = 0
  #countedTo = 0

  constructor(database: Database, tables: Tables, view: SqliteView) {
    this.#tables = tables
    this.#view = view
    this.#sql = database.prepareAll(statements)
  }

  message(id: string): Message | undefined {
    const head = this.#view.message(id)
    return head && this.whole(head)
  }

  messageAt(seq: number): Message | undefined {
    const row = this.#sql.bySeq.get(seq)
    return row && this.#fromRow(row)
  }

  headAt(seq: number): MessageHead | undefined {
    const row = this.#sql.bySeq.get(seq)
    return row && this.#view.head(row)
  }

  memberCount(conversation: number): number {
    return Number(this.#sql.memberCount.get(conversation)?.[0])
  }

  /** Messages by id, as this agent's inbox shows them now. */
  inboxMessages(agent: string, ids: string[]): InboxMessage[] {
    const key = this.#tables.agents.get(agent)?.key ?? -1
    const found: InboxMessage[] = []
    for (const id of ids) {
      const row = this.#sql.inboxMessage.get(key, id)
      if (row) found.push(inState(this.#fromRow(row), receiptOf(row, 10)))
    }
    return found
  }

  /** What a take has found and handed out by this route just now. */
  offered(found: Waiting[], route: Route): InboxMessage[] {
    return found.map((waiting) => inState(this.#whole(waiting), { route }))
  }

  peek(
    agent: string,
    input: {
      limit?: number
      bytesMax?: number
      unreadOnly?: boolean
      from?: string
      channel?: string
      thread?: string
    },
  ) {
    const newestFirst = input.unreadOnly === false
    const source = newestFirst ? this.#view.received(agent, filterOf(input)) : this.#view.unread(agent, filterOf(input))
    const { waiting, more } = page(source, input, () => true)
    const messages = waiting.map((each) => inState(this.#whole(each), each.receipt))
    return { messages: newestFirst ? messages.reverse() : messages, more }
  }

  /** The unread that the agent has not seen: neither handed out nor typed. That it was told of them is not seeing them. */
  unshown(agent: string, most: { bytesMax: number; limit?: number }): InboxMessage[] {
    const isFree = ({ receipt }: Waiting) =>
      receipt?.route === undefined || receipt.route === 'hint' || receipt.route === 'push'
    const { waiting } = page(this.#view.unread(agent, {}), most, isFree, true)
    return waiting.map((each) => inState(this.#whole(each), each.receipt))
  }

  unreadCount(agent: string): number {
    return this.#view.unreadCount(agent, unreadCountMax)
  }

  /** What of the unread is free to be handed out, counted. */
  waiting(agent: string, isFree: (receipt: ReceiptRow | undefined) => boolean): OutputOf<'inbox.count'> {
    const kinds: Record<string, number> = Object.create(null)
    const sources: Record<string, number> = Object.create(null)
    let [total, newest] = [0, 0]
    for (const { head, receipt } of this.#view.unread(agent, {})) {
      if (!isFree(receipt)) continue
      const source = isChannel(head.conversation) ? head.conversation : head.from
      kinds[head.kind] = (kinds[head.kind] ?? 0) + 1
      sources[source] = (sources[source] ?? 0) + 1
      newest = head.seq
      if (++total >= unreadCountMax) break
    }
    return { total, kinds: { ...kinds }, sources: { ...sources }, newest }
  }

  /** Heads only: a thread may be longer than what one answer can carry. */
  thread(name: string): Waiting[] {
    return this.#sql.thread.all(name, name).map((row) => ({
      head: this.#view.head(row),
      bodyBytes: row[9] as number,
      receipt: undefined,
    }))
  }

  /** For every recipient, what is known; `storedAt` is the same for all. */
  receipts(head: MessageHead): Receipt[] {
    const known = new Map(this.#sql.receipts.all(head.seq).map((row) => [row[0] as number, row]))
    return this.recipients(head).map((name) => {
      const row = known.get(this.#tables.agents.get(name)?.key ?? -1)
      const [, route, offeredAt, readAt] = row ?? []
      return {
        agent: name,
        state: readAt ? 'read' : offeredAt ? 'offered' : 'stored',
        storedAt: isoTime(head.at),
        ...withoutNulls({ route: route as Route, offeredAt: isoTime(offeredAt), readAt: isoTime(readAt) }),
      }
    })
  }

  recipients({ conversation, n, from }: MessageHead): string[] {
    const direct = directMembers(conversation)
    if (direct.length > 0) return direct.filter((name) => name !== from && this.#tables.agents.has(name))
    const key = this.#tables.conversation(conversation)?.key ?? -1
    const names = this.#sql.recipients
      .all(key, n)
      .map(([agent]) => this.#tables.agentsByKey.get(agent as number)?.name ?? '')
    return names.filter((name) => name !== from)
  }

  channels(agent: string | undefined) {
    return this.#tables.channels().map((name) => {
      const { key, lastN } = this.#tables.conversation(name) as { key: number; lastN: number }
      const joined = agent !== undefined && this.#view.isMember(agent, name)
      return { name, members: this.memberCount(key), messages: lastN, joined }
    })
  }

  /** The names of the conversations an agent is in now. */
  conversationsOf(agent: string): string[] {
    const key = this.#tables.agents.get(agent)?.key
    if (key === undefined) return []
    return this.#sql.conversations
      .all(key)
      .map(([conversation]) => this.#tables.conversationOf(conversation as number).name)
  }

  agentOfTokenHash(hash: string, now: number): string | undefined {
    const key = this.#sql.token.get(hash, now)?.[0]
    return key === undefined ? undefined : this.#tables.agentsByKey.get(key as number)?.name
  }

  /** What others said in a thread or a conversation after a number: where a wait looks for its reply. */
  threadSince(thread: string, seq: number, notFrom: string): Message[] {
    return this.#sql.threadSince.all(thread, seq, notFrom).map((row) => this.#fromRow(row))
  }

  conversationSince(conversation: string, n: number, notFrom: string): Message[] {
    const key = this.#tables.conversation(conversation)?.key ?? -1
    return this.#sql.conversationSince.all(key, n, notFrom).map((row) => this.#fromRow(row))
  }

  /** Messages are never deleted, so only the new ones need counting: a million take ten milliseconds. */
  messageCount(): number {
    const [count, last] = this.#sql.messageCount.get(this.#countedTo) as [number, number | null]
    this.#counted += count
    this.#countedTo = last ?? this.#countedTo
    return this.#counted
  }

  agentCount(): number {
    return this.#tables.agents.size
  }

  whole(head: MessageHead): Message {
    return toMessage(head, this.#sql.body.get(head.seq)?.[0] as string)
  }

  #whole({ head, body }: Waiting): Message {
    return body === undefined ? this.whole(head) : toMessage(head, body)
  }

  #fromRow(row: Row): Message {
    return toMessage(this.#view.head(row), row[9] as string)
  }
}

function toMessage({ id, seq, at, conversation, from, kind, thread, replyTo }: MessageHead, body: string): Message {
  const message: Message = { id, seq, ts: isoTime(at), from, to: addressOf(conversation, from), kind, body }
  if (isChannel(conversation)) message.channel = conversation
  if (thread !== undefined) message.thread = thread
  if (replyTo !== undefined) message.replyTo = replyTo
  return message
}

/** The same object, which is ours: a copy of each would cost as much as reading it. */
function inState(message: Message, receipt: ReceiptRow | undefined): InboxMessage {
  const shown = message as InboxMessage
  shown.receipt = !receipt ? 'stored' : receipt.readAt === undefined ? 'offered' : 'read'
  if (receipt?.route) shown.route = receipt.route
  return shown
}

function isoTime(at: number): string
function isoTime(at: unknown): string | undefined
function isoTime(at: unknown): string | undefined {
  return typeof at === 'number' ? new Date(at).toISOString() : undefined
}
