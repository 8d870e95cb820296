// The tables as rules read them, over SQLite. This class only reads; what is read most comes from the mirror in memory (tables.ts).

import type { Policy } from '@agent-relay/sdk/protocol'
import type { AnswerPlace } from '../core/answers.ts'
import { directMembers } from '../core/conversations.ts'
import type { AgentRow, HomeRow, MessageHead, ReceiptRow, View } from '../core/view.ts'
import { defaultPolicy } from '../core/workspaces.ts'
import { ActionRows } from './action-rows.ts'
import { ApprovalRows } from './approval-rows.ts'
import { ClaimRows } from './claim-rows.ts'
import { headColumns, receiptFromRow, stayCovers } from './columns.ts'
import { type Database, pagesOf, type Row, readRow, type Statement } from './database.ts'
import { InboxRows } from './inbox-rows.ts'
import { NoticeRows } from './notice-rows.ts'
import { RunRows } from './run-rows.ts'
import type { TablesMirror } from './tables.ts'
import { WorkerRows } from './worker-rows.ts'

// Every LIMIT is written `(? + 0)`: SQLite 3.53 prepares a statement with a plain `LIMIT ?` again at every run, which takes 50 µs.
const statements = {
  policy: "SELECT value FROM meta WHERE name = 'policy'",
  format: "SELECT value FROM meta WHERE name = 'format'",
  owner: "SELECT value FROM meta WHERE name = 'owner'",
  isRevoked: "SELECT 1 FROM meta WHERE name = 'revoked ' || ?",
  revoked: "SELECT substr(name, 9) FROM meta WHERE name LIKE 'revoked %' ORDER BY name",
  message: `SELECT ${headColumns} FROM messages m WHERE m.id = ?`,
  beginning: 'SELECT substr(body, 1, ?) FROM messages WHERE seq = ?',
  // Finds the pairs and groups of an agent: their names begin with @.
  directs: `SELECT s.conversation FROM members s JOIN conversations c ON c.key = s.conversation WHERE s.agent = ? AND s.conversation > ?
    AND c.name >= '@' AND c.name < 'A' ORDER BY s.conversation LIMIT (? + 0)`,
  questions: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ? AND m.kind = 'question' ORDER BY m.n DESC LIMIT (? + 0)`,
  inThread: `SELECT ${headColumns} FROM messages m WHERE m.thread = ?1 AND m.seq > ?2 AND m.sender <> ?3
    AND (?4 IS NULL OR m.reply_to = ?4) ORDER BY m.seq LIMIT 100`,
  inPair: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ? AND m.n > ? AND m.sender <> ? ORDER BY m.n LIMIT 100`,
  sentAt: 'SELECT at FROM messages WHERE conversation = ? AND n = ?',
  isMember: 'SELECT 1 FROM members WHERE agent = ? AND conversation = ? AND left_n IS NULL',
  otherIn: 'SELECT agent FROM members WHERE conversation = ? AND agent <> ? LIMIT 1',
  wasMember: `SELECT 1 FROM members s WHERE s.agent = ?1 AND s.conversation = ?2 AND ${stayCovers('?3')}`,
  receipt: 'SELECT route, session, until, offered_at, read_at FROM receipts WHERE message = ? AND agent = ?',
  isNamed: `SELECT EXISTS (SELECT 1 FROM members s WHERE s.agent = ?1 AND (s.left_n IS NULL OR s.left_n > s.joined_n)
      AND (SELECT n FROM messages WHERE conversation = s.conversation ORDER BY n DESC LIMIT 1) > s.joined_n)
    OR EXISTS (SELECT 1 FROM agents WHERE parent = ?2)
    OR EXISTS (SELECT 1 FROM runs WHERE agent = ?2 OR parent = ?2)
    OR EXISTS (SELECT 1 FROM workers WHERE name = ?2 OR parent = ?2)
    OR EXISTS (SELECT 1 FROM invocations WHERE caller = ?2 OR provider = ?2)
    OR EXISTS (SELECT 1 FROM actions a WHERE provider = ?2 OR EXISTS (SELECT 1 FROM json_each(a.available_to) WHERE value = ?2))`,
  reacted: 'SELECT 1 FROM reactions WHERE message = ? AND agent = ? AND emoji = ?',
}

/** Number of pairs and groups that are read in one step, and maximum number of questions examined in each, newest first. */
const [directsPerStep, questionsMax] = [64, 16]

export class SqliteView implements View {
  readonly actions: ActionRows
  readonly workers: WorkerRows
  readonly runs: RunRows
  readonly claims: ClaimRows
  readonly approvals: ApprovalRows
  readonly notices: NoticeRows
  readonly inbox: InboxRows
  readonly #tables: TablesMirror
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: TablesMirror) {
    this.#tables = tables
    this.inbox = new InboxRows(database, tables, (row) => this.messageHead(row))
    this.actions = new ActionRows(database)
    this.workers = new WorkerRows(database)
    this.runs = new RunRows(database)
    this.claims = new ClaimRows(database)
    this.approvals = new ApprovalRows(database)
    this.notices = new NoticeRows(database)
    this.#sql = database.prepareAll(statements)
  }

  /** Returns the policy. By default no agent may see another agent's terminal, and no agent of another workspace may write here. */
  policy(): Policy {
    const stored = this.#sql.policy.get()?.[0]
    return stored === undefined ? defaultPolicy : { ...defaultPolicy, ...JSON.parse(stored as string) }
  }

  format(): number {
    return Number(this.#sql.format.get()?.[0] ?? 1)
  }

  owner(): string | undefined {
    return this.#sql.owner.get()?.[0] as string | undefined
  }

  isRevoked(machine: string): boolean {
    return this.#sql.isRevoked.get(machine) !== undefined
  }

  /** Returns the names of the machines that were removed from the cluster. */
  revokedMachines(): string[] {
    return this.#sql.revoked.all().map(([name]) => name as string)
  }

  agent(name: string): AgentRow | undefined {
    const agent = this.#tables.agents.get(name)
    return agent?.isRetired ? undefined : agent
  }

  isRetired(name: string): boolean {
    return this.#tables.agents.get(name)?.isRetired === true
  }

  home(name: string): HomeRow | undefined {
    return this.#tables.homes.get(name)
  }

  isReferenced(agent: string): boolean {
    return this.#sql.isNamed.get(this.#tables.agents.get(agent)?.key ?? -1, agent)?.[0] === 1
  }

  agentsNamedLike(text: string): AgentRow[] {
    return this.#tables.agentsNamedLike(text)
  }

  *agents(): Generator<AgentRow, void, void> {
    for (const agent of this.#tables.agentsByKey.values()) if (!agent.isRetired) yield agent
  }

  agentNames(): readonly string[] {
    return this.#tables.agentNames()
  }

  channels(): readonly string[] {
    return this.#tables.channels()
  }

  lastNumber(conversation: string): number | undefined {
    return this.#tables.conversation(conversation)?.lastN
  }

  conversationKey(conversation: string): number | undefined {
    return this.#tables.conversation(conversation)?.key
  }

  isMember(agent: string, conversation: string): boolean {
    const [a, c] = [this.#tables.agents.get(agent), this.#tables.conversation(conversation)]
    return a !== undefined && c !== undefined && this.#sql.isMember.get(a.key, c.key) !== undefined
  }

  otherMember(agent: string, conversation: string): string | undefined {
    const [a, c] = [this.#tables.agents.get(agent), this.#tables.conversation(conversation)]
    const key = c && this.#sql.otherIn.get(c.key, a?.key ?? -1)?.[0]
    return this.#tables.agentsByKey.get(key as number)?.name
  }

  message(id: string): MessageHead | undefined {
    return readRow(this.#sql.message.get(id), (row) => this.messageHead(row))
  }

  bodyStart({ seq }: MessageHead, chars: number): string {
    return this.#sql.beginning.get(chars, seq)?.[0] as string
  }

  *questions(agent: string): Generator<MessageHead | undefined, void, void> {
    const key = this.#tables.agents.get(agent)?.key ?? -1
    const read = (last?: Row) => this.#sql.directs.all(key, last?.[0] ?? 0, directsPerStep)
    for (const rows of pagesOf(directsPerStep, read)) {
      for (const [conversation] of rows as [number][])
        for (const row of this.#sql.questions.all(conversation, questionsMax)) yield this.messageHead(row)
      yield
    }
  }

  messagesAfter(
    place: AnswerPlace,
    { conversation, n, seq, from }: Pick<MessageHead, 'conversation' | 'n' | 'seq' | 'from'>,
  ): MessageHead[] {
    if (place !== 'pair')
      return this.#sql.inThread.all(place.thread, seq, from, place.replyTo ?? null).map((row) => this.messageHead(row))
    const key = this.#tables.conversation(conversation)?.key ?? -1
    return this.#sql.inPair.all(key, n, from).map((row) => this.messageHead(row))
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
    return reader && receiptFromRow(this.#sql.receipt.get(message.seq, reader.key))
  }

  hasReacted(agent: string, message: MessageHead, emoji: string): boolean {
    return this.#sql.reacted.get(message.seq, agent, emoji) !== undefined
  }

  messageHead(row: Row): MessageHead {
    const [seq, id, at, conversation, n, from, kind, thread, replyTo] = row
    const { name } = this.#tables.conversationOf(conversation as number)
    const head = { seq, id, at, conversation: name, n, from, kind } as MessageHead
    if (thread !== null) head.thread = thread as string
    if (replyTo !== null) head.replyTo = replyTo as string
    return head
  }
}
