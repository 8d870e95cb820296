// Reads for callers: messages with their bodies, receipts, channels, counts. Rows become the protocol's types.

import type { InboxMessage, Message, OutputOf, ParsedInputOf, Receipt, Route } from '@agent-relay/sdk/protocol'
import { addressOf, directMembers, isChannel } from '../core/conversations.ts'
import { inboxFilterOf, includesReadMessages, pickPage } from '../core/inbox.ts'
import { runAllSteps, type Steps } from '../core/steps.ts'
import type { MessageHead, ReceiptRow, WaitingMessage } from '../core/view.ts'
import { headColumns, receiptColumns, receiptFromRow, receiptStateOf, stayCovers } from './columns.ts'
import { type Database, pagesOf, type Row, readRow, type Statement } from './database.ts'
import { type TablesMirror, withoutNulls } from './tables.ts'
import type { SqliteView } from './view.ts'

const statements = {
  body: 'SELECT body FROM messages WHERE seq = ?',
  inboxMessage: `SELECT ${headColumns}, m.body, ${receiptColumns}
    FROM messages m LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ? WHERE m.id = ?`,
  head: `SELECT ${headColumns} FROM messages m WHERE m.seq = ?`,
  // The last column tells whether the reader may see the message: a message that was sent while the reader was not in the conversation is skipped without
  // reading its body. Without a reader (null), every message is visible.
  thread: `SELECT ${headColumns}, octet_length(m.body), ?4 IS NULL OR EXISTS (SELECT 1 FROM members s WHERE s.agent = ?4
      AND s.conversation = m.conversation AND ${stayCovers('m.n')})
    FROM messages m WHERE m.thread = ?1 AND m.seq > ?2 ORDER BY m.seq LIMIT (?3 + 0)`,
  threadRoot: `SELECT ${headColumns}, octet_length(m.body), ?2 IS NULL OR EXISTS (SELECT 1 FROM members s WHERE s.agent = ?2
      AND s.conversation = m.conversation AND ${stayCovers('m.n')})
    FROM messages m WHERE m.id = ?1`,
  homeAt: 'SELECT machine FROM homes WHERE agent = ? AND epoch = ?',
  lastEpoch: 'SELECT max(epoch) FROM homes WHERE agent = ? AND machine = ?',
  recipients: `SELECT s.agent FROM members s WHERE s.conversation = ?1 AND ${stayCovers('?2')} AND s.agent > ?3
    ORDER BY s.agent LIMIT (?4 + 0)`,
  memberCount: 'SELECT count(*) FROM members WHERE conversation = ? AND left_n IS NULL',
  conversations: 'SELECT DISTINCT conversation FROM members WHERE agent = ? AND left_n IS NULL',
  conversationsEver: 'SELECT DISTINCT conversation FROM members WHERE agent = ?',
  tokenHashes: 'SELECT hash FROM tokens',
  token: 'SELECT agent, until FROM tokens WHERE hash = ?',
  messageCount: 'SELECT count(*) FROM messages WHERE seq > ? AND seq <= ?',
  lastNumbers: `SELECT c.key, (SELECT n FROM messages WHERE conversation = c.key ORDER BY n DESC LIMIT 1) FROM conversations c
    WHERE c.key > ? ORDER BY c.key LIMIT (? + 0)`,
}

/** One step through a thread. `waiting` is the message; it is left out if the reader may not see it. */
export interface ThreadStep {
  seq: number
  waiting?: WaitingMessage
}

/** Maximum count of unread messages. A result of 1000 means "1000 or more", since counting further would cost too much. */
export const unreadCountMax = 1_000

/** Rows that one step of a long read fetches, and entries that one step of a count covers. */
const rowsPerStep = 256
const countedPerStep = 1_000

/** Number of conversations in one step of the sum of all message numbers. */
const conversationsSummed = 256

export class Queries {
  readonly #tables: TablesMirror
  readonly #view: SqliteView
  readonly #sql: Record<keyof typeof statements, Statement>
  #counted = 0
  #countedTo = 0

  constructor(database: Database, tables: TablesMirror, view: SqliteView) {
    this.#tables = tables
    this.#view = view
    this.#sql = database.prepareAll(statements)
  }

  message(id: string): Message | undefined {
    const head = this.#view.message(id)
    return head && this.messageWithBody(head)
  }

  headAt(seq: number): MessageHead | undefined {
    return readRow(this.#sql.head.get(seq), (row) => this.#view.messageHead(row))
  }

  /** Returns the number of a conversation's members. It is cached until an agent enters or leaves, since counting ten thousand takes milliseconds. */
  memberCount(name: string): number {
    const conversation = this.#tables.conversation(name)
    if (!conversation) return 0
    conversation.members ??= Number(this.#sql.memberCount.get(conversation.key)?.[0])
    return conversation.members
  }

  /** Returns messages by id, in their present state for this agent: with its receipt. */
  inboxMessages(agent: string, ids: string[]): InboxMessage[] {
    const key = this.#tables.agents.get(agent)?.key ?? -1
    const found: InboxMessage[] = []
    for (const id of ids) {
      const row = this.#sql.inboxMessage.get(key, id)
      if (row) found.push(inState(toMessage(this.#view.messageHead(row), row[9] as string), receiptFromRow(row, 10)))
    }
    return found
  }

  /** Returns messages in the state that `inbox.take` has just given them: offered by this route, or only held if there is no route. */
  offeredMessages(found: WaitingMessage[], route: Route | undefined): InboxMessage[] {
    return found.map((waiting) => inState(this.#whole(waiting), { route }))
  }

  *peek(agent: string, input: ParsedInputOf<'inbox.peek'>): Steps<OutputOf<'inbox.peek'>> {
    const { inbox } = this.#view
    const newestFirst = includesReadMessages(input)
    const filter = inboxFilterOf(this.#view, input)
    const source = newestFirst ? inbox.received(agent, filter) : inbox.unread(agent, filter)
    const { waiting, more } = yield* pickPage(source, input, () => true)
    const messages = waiting.map((each) => inState(this.#whole(each), each.receipt))
    return { messages: newestFirst ? messages.reverse() : messages, more }
  }

  unreadCount(agent: string): Steps<number> {
    return this.#view.inbox.unreadCount(agent, unreadCountMax)
  }

  /** Counts the unread messages that no other session holds, by kind and by source. */
  *countWaiting(agent: string, isFree: (receipt: ReceiptRow | undefined) => boolean): Steps<OutputOf<'inbox.count'>> {
    const kinds: Record<string, number> = Object.create(null)
    const sources: Record<string, number> = Object.create(null)
    let [total, newest] = [0, 0]
    for (const waiting of this.#view.inbox.unread(agent, {})) {
      yield
      if (!waiting || !isFree(waiting.receipt)) continue
      const { head } = waiting
      const source = isChannel(head.conversation) ? head.conversation : head.from
      kinds[head.kind] = (kinds[head.kind] ?? 0) + 1
      sources[source] = (sources[source] ?? 0) + 1
      newest = head.seq
      if (++total >= unreadCountMax) break
    }
    return { total, kinds: { ...kinds }, sources: { ...sources }, newest }
  }

  newestWaiting(agent: string, isFree: (receipt: ReceiptRow | undefined) => boolean): number {
    return runAllSteps(this.countWaiting(agent, isFree)).newest
  }

  /**
   * Yields the messages of a thread after an entry, without their bodies: a thread may be longer than an answer can be. With a `reader`, only those that it may
   * see.
   */
  *thread(name: string, after: number, reader: string | undefined): Generator<ThreadStep, void, void> {
    const key = reader === undefined ? null : (this.#tables.agents.get(reader)?.key ?? -1)
    const root = after === 0 ? this.#sql.threadRoot.get(name, key) : undefined
    if (root) yield this.#inThread(root)
    const read = (last?: Row) => this.#sql.thread.all(name, last?.[0] ?? after, rowsPerStep, key)
    for (const rows of pagesOf(rowsPerStep, read)) for (const row of rows) yield this.#inThread(row)
  }

  #inThread(row: Row): ThreadStep {
    const [seq, bodyBytes] = [row[0] as number, row[9] as number]
    return row[10] === 1
      ? { seq, waiting: { head: this.#view.messageHead(row), bodyBytes, receipt: undefined } }
      : { seq }
  }

  /** Returns the home machine that an agent had in an epoch (a count of its moves). */
  homeAt(agent: string, epoch: number): string | undefined {
    return this.#sql.homeAt.get(agent, epoch)?.[0] as string | undefined
  }

  /** Returns the last epoch (a count of the agent's moves) in which this machine was the agent's home. */
  lastEpoch(agent: string, machine: string): number | undefined {
    return (this.#sql.lastEpoch.get(agent, machine)?.[0] ?? undefined) as number | undefined
  }

  /** Returns a message's receipt for each recipient. `isHeld` tells whether a hold of a recipient's session is still in force. */
  *receipts(head: MessageHead, isHeld: (agent: string, receipt: ReceiptRow | undefined) => boolean): Steps<Receipt[]> {
    const receipts: Receipt[] = []
    for (const name of this.recipients(head)) {
      yield
      if (name === undefined) continue
      const row = this.#view.receipt(name, head)
      const state = receiptStateOf(row)
      const heldUntil = state === 'stored' && isHeld(name, row) ? isoTime(row?.until) : undefined
      const [offeredAt, readAt] = [isoTime(row?.offeredAt), isoTime(row?.readAt)]
      receipts.push({
        ...{ agent: name, state, storedAt: isoTime(head.at) },
        ...withoutNulls({ route: row?.route, offeredAt, heldUntil, readAt }),
      })
    }
    return receipts
  }

  /** Yields the recipients of a message, and undefined where the caller may pause. */
  *recipients({
    conversation,
    n,
    from,
  }: Pick<MessageHead, 'conversation' | 'n' | 'from'>): Generator<string | undefined, void, void> {
    const direct = directMembers(conversation)
    if (direct.length > 0) return yield* direct.filter((name) => name !== from && this.#tables.agents.has(name))
    const key = this.#tables.conversation(conversation)?.key ?? -1
    const read = (last?: Row) => this.#sql.recipients.all(key, n, last?.[0] ?? 0, rowsPerStep)
    for (const rows of pagesOf(rowsPerStep, read))
      for (const [agent] of rows) {
        const name = this.#tables.agentsByKey.get(agent as number)?.name
        if (name !== from) yield name
      }
  }

  *channels(agent: string | undefined): Steps<OutputOf<'channel.list'>['channels']> {
    const channels: OutputOf<'channel.list'>['channels'] = []
    for (const name of this.#tables.channels()) {
      const joined = agent !== undefined && this.#view.isMember(agent, name)
      const messages = this.#view.lastNumber(name) ?? 0
      channels.push({ name, members: this.memberCount(name), messages, joined })
      yield
    }
    return channels
  }

  /** Returns the names of the conversations that an agent is in now. */
  conversationsOf(agent: string): string[] {
    return this.#conversations(this.#sql.conversations, agent)
  }

  /** Returns the names of the conversations that an agent is in now or was in before. */
  conversationsEver(agent: string): string[] {
    return this.#conversations(this.#sql.conversationsEver, agent)
  }

  #conversations(statement: Statement, agent: string): string[] {
    const key = this.#tables.agents.get(agent)?.key
    if (key === undefined) return []
    return statement.all(key).map(([conversation]) => this.#tables.conversationOf(conversation as number).name)
  }

  tokenHashes(): string[] {
    return this.#sql.tokenHashes.all().map(([hash]) => hash as string)
  }

  /** Returns the agent that has a token, and the time at which the token expires, which the caller must check. */
  tokenOwner(hash: string): { agent: string; until?: number } | undefined {
    const row = this.#sql.token.get(hash)
    const agent = row && this.#tables.agentsByKey.get(row[0] as number)?.name
    return agent === undefined ? undefined : { agent, until: (row?.[1] ?? undefined) as number | undefined }
  }

  /** Corrects the count of messages after some were deleted. `seqs` are the numbers of their entries. */
  uncount(seqs: readonly number[]): void {
    this.#counted -= seqs.filter((seq) => seq <= this.#countedTo).length
  }

  /** Returns the number of messages. Messages that an earlier call has counted are not counted again. */
  *messageCount(lastSeq: number): Steps<number> {
    while (this.#countedTo < lastSeq) {
      const to = Math.min(lastSeq, this.#countedTo + countedPerStep)
      this.#counted += Number(this.#sql.messageCount.get(this.#countedTo, to)?.[0])
      this.#countedTo = to
      yield
    }
    return this.#counted
  }

  /** Returns how many messages were ever stored, including pruned ones: the sum of the last message numbers of all conversations. */
  *messagesEver(): Steps<number> {
    let sum = 0
    const read = (last?: Row) => this.#sql.lastNumbers.all(last?.[0] ?? 0, conversationsSummed)
    for (const rows of pagesOf(conversationsSummed, read)) {
      for (const [, last] of rows) sum += Number(last ?? 0)
      yield
    }
    return sum
  }

  agentCount(): number {
    return [...this.#tables.agents.values()].filter(({ isRetired }) => !isRetired).length
  }

  messageWithBody(head: MessageHead): Message {
    return toMessage(head, this.#sql.body.get(head.seq)?.[0] as string)
  }

  #whole({ head, body }: WaitingMessage): Message {
    return body === undefined ? this.messageWithBody(head) : toMessage(head, body)
  }
}

function toMessage({ id, seq, at, conversation, from, kind, thread, replyTo }: MessageHead, body: string): Message {
  const message: Message = { id, seq, ts: isoTime(at), from, to: addressOf(conversation, from), kind, body }
  if (isChannel(conversation)) message.channel = conversation
  if (thread !== undefined) message.thread = thread
  if (replyTo !== undefined) message.replyTo = replyTo
  return message
}

/** Adds the receipt's state to the message. Changes the object itself, since a copy would cost as much as reading the message. */
function inState(message: Message, receipt: ReceiptRow | undefined): InboxMessage {
  const shown = message as InboxMessage
  shown.receipt = receiptStateOf(receipt)
  if (receipt?.route) shown.route = receipt.route
  return shown
}

function isoTime(at: number): string
function isoTime(at: unknown): string | undefined
function isoTime(at: unknown): string | undefined {
  return typeof at === 'number' ? new Date(at).toISOString() : undefined
}
