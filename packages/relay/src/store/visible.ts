// Finds by index what an agent may see: its stays in conversations as ranges of the journal, and the entries that concern it. The cost depends on what is
// found, not on how much others have written. core/sight.ts decides which facts of an entry are shown.

import { lastNumberThatFits } from '../core/halving.ts'
import { concernsKeyOfConversation, concernsKeyOfEveryone } from './concerns.ts'
import type { Database, Statement } from './database.ts'
import type { TablesMirror } from './tables.ts'

/** One stay (an agent's time in a conversation) that has messages: the range of their numbers, and the journal entries of the first and last one. */
export interface VisibleSpan {
  conversation: number
  /** The range contains message numbers above this one. */
  after: number
  /** The range contains message numbers up to this one. */
  to: number
  firstSeq: number
  lastSeq: number
}

/** Iterates over numbers of journal entries in order. An undefined item marks where the caller may pause to let other work run. */
export type EntryNumbers = Generator<number | undefined, void, void>

const statements = {
  stays: 'SELECT conversation, joined_n, left_n FROM members WHERE agent = ?',
  staysIn: 'SELECT conversation, joined_n, left_n FROM members WHERE agent = ? AND conversation = ?',
  // Finds the entry of the first message at or above a number: the message with that number may have been pruned.
  seqOf: 'SELECT seq FROM messages WHERE conversation = ? AND n >= ? ORDER BY n LIMIT 1',
  said: 'SELECT seq, n FROM messages WHERE conversation = ?1 AND n > ?2 AND n <= ?3 ORDER BY n LIMIT (?4 + 0)',
  saidDown: 'SELECT seq, n FROM messages WHERE conversation = ?1 AND n > ?2 AND n <= ?3 ORDER BY n DESC LIMIT (?4 + 0)',
  concerned: 'SELECT seq FROM concerns WHERE who = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT (?4 + 0)',
  concernedDown: 'SELECT seq FROM concerns WHERE who = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq DESC LIMIT (?4 + 0)',
}

const [chunkFirst, chunkMax] = [4, 256]

export interface EntryRange {
  /** The range contains journal entries above this number. */
  after: number
  /** The range contains journal entries up to this number. */
  to: number
  isUpward: boolean
}

/**
 * Which entries to look for: those that send a message (`messages`), or those that concern everyone, the agent itself (`own`), or its conversations otherwise.
 */
export interface EntryKinds {
  messages: boolean
  everyone: boolean
  own: boolean
  conversations: boolean
}

export class VisibleEntries {
  readonly #tables: TablesMirror
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database, tables: TablesMirror) {
    this.#tables = tables
    this.#sql = database.prepareAll(statements)
  }

  /**
   * Yields the agent's stays (times in a conversation) that have messages, in all conversations or only in `conversation`. For every other stay it yields
   * undefined, where the caller may pause.
   */
  *spans(agent: string, conversation?: string): Generator<VisibleSpan | undefined, void, void> {
    const reader = this.#tables.agents.get(agent)
    if (!reader) return
    const rows =
      conversation === undefined
        ? this.#sql.stays.all(reader.key)
        : this.#sql.staysIn.all(reader.key, this.#tables.conversation(conversation)?.key ?? -1)
    for (const [key, joined, left] of rows as [number, number, number | null][]) {
      const { lastN, lastSeq } = this.#tables.conversationOf(key)
      const to = Math.min(left ?? lastN, lastN)
      if (joined < to)
        yield {
          conversation: key,
          after: joined,
          to,
          firstSeq: this.#seqOf(key, joined + 1),
          lastSeq: to === lastN ? lastSeq : this.#seqOf(key, to),
        }
      else yield undefined
    }
  }

  /**
   * Yields the numbers of all entries of the range that may hold something that the agent may see, each once and in order. Without an agent, only entries that
   * concern everyone.
   */
  *entries(agent: string | undefined, range: EntryRange, kinds: EntryKinds): EntryNumbers {
    const sources: Source[] = []
    const add = (source: Source) => {
      if (source.next !== undefined) sources.push(source)
    }
    const key = agent === undefined ? undefined : this.#tables.agents.get(agent)?.key
    if (kinds.everyone) add(this.#concerned(concernsKeyOfEveryone, range))
    if (kinds.own && key !== undefined) add(this.#concerned(key, range))
    const heard = new Set<number>()
    const isInSpans = kinds.messages || kinds.conversations
    for (const span of agent === undefined || !isInSpans ? [] : this.spans(agent)) {
      if (span && kinds.messages) add(this.#said(span, range))
      if (span && kinds.conversations && !heard.has(span.conversation)) {
        heard.add(span.conversation)
        add(this.#concerned(concernsKeyOfConversation(span.conversation), range))
      }
      yield undefined
    }
    yield* merged(sources, range.isUpward)
  }

  #seqOf(conversation: number, n: number): number {
    return this.#sql.seqOf.get(conversation, n)?.[0] as number
  }

  #concerned(who: number, { after, to, isUpward }: EntryRange): Source {
    const sql = this.#sql[isUpward ? 'concerned' : 'concernedDown']
    let [low, high] = [after, to]
    return new Source((limit) => {
      const seqs = sql.all(who, low, high, limit).map(([seq]) => seq as number)
      const last = seqs[seqs.length - 1]
      if (last !== undefined && isUpward) low = last
      else if (last !== undefined) high = last - 1
      return seqs
    })
  }

  #said(span: VisibleSpan, { after, to, isUpward }: EntryRange): Source {
    const { conversation } = span
    if (span.lastSeq <= after || span.firstSeq > to) return new Source(() => [])
    // Message numbers rise with entry numbers, so a binary search finds the range of messages.
    let low = span.firstSeq > after ? span.after : this.#lastUpTo(span, after)
    let high = span.lastSeq <= to ? span.to : this.#lastUpTo(span, to)
    const sql = this.#sql[isUpward ? 'said' : 'saidDown']
    return new Source((limit) => {
      const rows = sql.all(conversation, low, high, limit) as [number, number][]
      const last = rows[rows.length - 1]?.[1]
      if (last !== undefined && isUpward) low = last
      else if (last !== undefined) high = last - 1
      return rows.map(([seq]) => seq)
    })
  }

  /** Returns the number of the span's last message whose entry is at most `seq`. */
  #lastUpTo({ conversation, after, to }: VisibleSpan, seq: number): number {
    return lastNumberThatFits(after, to, (n) => this.#seqOf(conversation, n) <= seq)
  }
}

/** An iterator over entry numbers in order, which reads them in chunks that grow. */
class Source {
  readonly #read: (limit: number) => number[]
  #chunk = chunkFirst
  #numbers: number[]
  #at = 0

  constructor(read: (limit: number) => number[]) {
    this.#read = read
    this.#numbers = read(this.#chunk)
  }

  get next(): number | undefined {
    return this.#numbers[this.#at]
  }

  move(): void {
    if (++this.#at < this.#numbers.length) return
    const isOver = this.#numbers.length < this.#chunk
    this.#chunk = Math.min(this.#chunk * 4, chunkMax)
    this.#numbers = isOver ? [] : this.#read(this.#chunk)
    this.#at = 0
  }
}

/** Merges iterators over entry numbers; a number that several of them have is yielded once. */
function* merged(sources: Source[], isUpward: boolean): EntryNumbers {
  while (sources.length > 0) {
    let best = sources[0]?.next as number
    for (const { next } of sources)
      if (isUpward ? (next as number) < best : (next as number) > best) best = next as number
    for (let at = sources.length - 1; at >= 0; at--) {
      const source = sources[at] as Source
      if (source.next !== best) continue
      source.move()
      if (source.next === undefined) sources.splice(at, 1)
    }
    yield best
  }
}
