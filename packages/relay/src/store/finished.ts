// Finds what pruning may delete: up to which journal entry, and in each conversation up to which message, everything is finished and old. pruning.ts deletes
// it.

import { lastNumberThatFits } from '../core/halving.ts'
import { isQuestionOpen } from '../core/open-questions.ts'
import type { Steps } from '../core/steps.ts'
import { headColumns } from './columns.ts'
import { type Database, pagesOf, type Row, type Statement } from './database.ts'
import type { TablesMirror } from './tables.ts'
import type { SqliteView } from './view.ts'

export interface PruningHorizon {
  /** Time in ms: anything from this time on is kept. */
  at: number
  now: number
  /** The ids of messages whose sender waits for an answer at this moment. */
  awaited: readonly string[]
}

type IsOld = (time: number) => boolean

interface AgeLimits {
  isOld: IsOld
  /** The range of times in ms that count as recent: above `after`, up to `to`. */
  young: { after: number; to: number }
  /** The number of the conversation's first message whose sender waits for an answer at this moment. */
  asked: number | undefined
}

export interface FinishedParts {
  horizon: number
  /** The number of the last journal entry that is old. */
  throughSeq: number
  /** For each conversation, by its key: the number of the message up to which all messages may be deleted. */
  lastFinishedNumbers: ReadonlyMap<number, number>
  held: HeldConversation[]
}

/** A conversation with old messages that are kept, and the reason. */
export interface HeldConversation {
  conversation: string
  /** The number of the first message that is kept. */
  n: number
  messages: number
  /** Names of agents that have not read message `n`. */
  unreadBy: string[]
  /** Whether message `n` is an open question, or its sender waits for an answer at this moment. */
  isAsked: boolean
}

const statements = {
  lastOld: 'SELECT max(seq) FROM journal WHERE seq > ? AND seq <= ? AND at <= ?',
  conversations: 'SELECT key, name FROM conversations WHERE key > ? ORDER BY key LIMIT (? + 0)',
  first: 'SELECT n FROM messages WHERE conversation = ? ORDER BY n LIMIT 1',
  last: 'SELECT n FROM messages WHERE conversation = ? ORDER BY n DESC LIMIT 1',
  at: 'SELECT at FROM messages WHERE conversation = ? AND n = ?',
  stays: `SELECT agent, joined_n, left_n, cursor FROM members WHERE conversation = ?1 AND (agent, joined_n) > (?2, ?3)
    ORDER BY agent, joined_n LIMIT (?4 + 0)`,
  unread: `SELECT m.n FROM messages m LEFT JOIN receipts r ON r.message = m.seq AND r.agent = ?1 WHERE m.conversation = ?2
    AND m.n > ?3 AND m.n <= ?4 AND m.sender <> ?5 AND r.read_at IS NULL ORDER BY m.n LIMIT 1`,
  // Finds the first message that was read after the pruning horizon: its reader may still be working on it.
  fresh: `SELECT m.n FROM messages m JOIN receipts r ON r.message = m.seq WHERE m.conversation = ?1 AND m.n >= ?2 AND m.n < ?3
    AND r.read_at > ?4 AND r.read_at <= ?5 ORDER BY m.n LIMIT 1`,
  questions: `SELECT ${headColumns} FROM messages m WHERE m.conversation = ? AND m.kind = 'question' ORDER BY m.n DESC LIMIT 16`,
}

/** Maximum number of rows that each kind of search reads before it pauses. */
const [entriesPerStep, conversationsPerStep, staysPerStep, messagesPerStep] = [1_000, 64, 64, 256]
/** Maximum number of names in `unreadBy`. */
const namesMax = 5

export class FinishedRows {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #tables: TablesMirror
  readonly #view: SqliteView

  constructor(database: Database, tables: TablesMirror, view: SqliteView) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#tables = tables
    this.#view = view
  }

  *find({ at, now, awaited }: PruningHorizon, lastSeq: number): Steps<FinishedParts> {
    const through = yield* this.#through(at, lastSeq)
    // A time in the future comes from a clock that was wrong, and counts as old.
    const isOld: IsOld = (time) => time <= at || time > now
    const young = { after: at, to: now }
    const asked = new Map<number, number>()
    for (const { conversation, n } of awaited.flatMap((id) => this.#view.message(id) ?? [])) {
      const key = this.#view.conversationKey(conversation) as number
      asked.set(key, Math.min(n, asked.get(key) ?? n))
    }
    const [upTo, held]: [Map<number, number>, HeldConversation[]] = [new Map(), []]
    const pages = pagesOf<Row>(conversationsPerStep, (last) =>
      this.#sql.conversations.all(last?.[0] ?? 0, conversationsPerStep),
    )
    for (const rows of pages)
      for (const [key, name] of rows as [number, string][]) {
        const found = yield* this.#conversation(key, name, { isOld, young, asked: asked.get(key) })
        if (found.n > 0) upTo.set(key, found.n)
        if (found.held) held.push(found.held)
        yield
      }
    return { horizon: at, throughSeq: through, lastFinishedNumbers: upTo, held }
  }

  /**
   * Finds the last old entry, searching back from the journal's end. A binary search would fail: times do not always rise with the numbers, for example in an
   * imported workspace, whose first entry has the time of the import.
   */
  *#through(at: number, lastSeq: number): Steps<number> {
    for (let to = lastSeq; to > 0; to -= entriesPerStep) {
      const found = this.#sql.lastOld.get(Math.max(0, to - entriesPerStep), to, at)?.[0]
      if (typeof found === 'number') return found
      yield
    }
    return 0
  }

  /**
   * Finds the last message of a conversation that may be deleted. The conversation's very last message is always kept: the number of the next message is one
   * higher.
   */
  *#conversation(
    key: number,
    name: string,
    { isOld, young, asked }: AgeLimits,
  ): Steps<{ n: number; held?: HeldConversation }> {
    const [first, last] = [this.#sql.first, this.#sql.last].map((sql) => Number(sql.get(key)?.[0] ?? 0))
    const said = Math.min(this.#lastOld(key, Number(first), Number(last), isOld), Number(last) - 1)
    const old = yield* this.#beforeYoung(key, Number(first), said, young)
    if (old < Number(first)) return { n: 0 }
    const question = this.#question(key, name, old, asked)
    let n = Math.min(old, question - 1)
    const unreadBy: string[] = []
    for (const stay of this.#stays(key)) {
      yield
      const unread = stay && this.#firstUnread(key, stay, n + 1)
      if (unread === undefined || unread > n + 1) continue
      if (unread <= n) unreadBy.length = 0
      if (unreadBy.length < namesMax) unreadBy.push(stay?.name as string)
      n = unread - 1
    }
    if (n === old) return { n }
    const held = { conversation: name, n: n + 1, messages: old - n, unreadBy, isAsked: question === n + 1 }
    return { n: n < Number(first) ? 0 : n, held }
  }

  /** Finds the last old message by binary search, since the times of messages rise with their numbers, apart from faults of a clock. */
  #lastOld(key: number, first: number, last: number, isOld: IsOld): number {
    return lastNumberThatFits(first - 1, last, (n) => isOld(this.#sql.at.get(key, n)?.[0] as number))
  }

  /** Finds the last message before the first one that was read after the pruning horizon. */
  *#beforeYoung(key: number, first: number, said: number, { after, to }: AgeLimits['young']): Steps<number> {
    for (let n = first; n <= said; n += messagesPerStep) {
      const found = this.#sql.fresh.get(key, n, Math.min(said + 1, n + messagesPerStep), after, to)?.[0]
      if (typeof found === 'number') return found - 1
      yield
    }
    return said
  }

  /** Returns the number of the first unanswered question up to message `old`; a number above `old` if there is none. */
  #question(key: number, name: string, old: number, asked = old + 1): number {
    const isDirect = name.startsWith('@')
    const heads = isDirect ? this.#sql.questions.all(key).map((row) => this.#view.messageHead(row)) : []
    const open = heads.filter((head) => head.n < asked && isQuestionOpen(this.#view, head))
    return Math.min(asked, ...open.map(({ n }) => n))
  }

  /** Yields the stays of agents that are not retired, and undefined where the caller may pause. */
  *#stays(key: number): Generator<{ name: string; agent: number; cursor: number; left: number } | undefined> {
    const pages = pagesOf<Row>(staysPerStep, ([agent, joined] = [0, -1]) =>
      this.#sql.stays.all(key, agent as number, joined as number, staysPerStep),
    )
    for (const rows of pages) {
      for (const [who, , left, cursor] of rows as [number, number, number | null, number][]) {
        const known = this.#tables.agentsByKey.get(who)
        if (known && !known.isRetired)
          yield { name: known.name, agent: who, cursor, left: left ?? Number.MAX_SAFE_INTEGER }
      }
      yield undefined
    }
  }

  #firstUnread(
    key: number,
    { name, agent, cursor, left }: { name: string; agent: number; cursor: number; left: number },
    to: number,
  ): number | undefined {
    if (cursor >= Math.min(left, to)) return undefined
    return this.#sql.unread.get(agent, key, cursor, Math.min(left, to), name)?.[0] as number | undefined
  }
}
