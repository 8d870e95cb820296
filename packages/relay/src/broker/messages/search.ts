// Searches messages by a full-text index, which is divided into parts by journal number. Searches the parts that may hold something for the reader, newest
// first, until the time limit. The index is filled while the daemon is idle; a part that is not full yet is filled before it is searched.

import { statSync } from 'node:fs'
import { limits, type Message, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { type Reader, sees, seesAll } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import { LoadMeter } from '../../machine/event-loop.ts'
import { SearchIndex } from '../../store/search.ts'
import { conversationMark, queryWithMarks, searchQueriesOf, senderMark } from '../../store/search-query.ts'
import type { Store } from '../../store/store.ts'
import type { Engine } from '../engine.ts'
import type { EntryHub } from '../hub.ts'
import type { LongReads, ReadTimeLimit } from '../long-reads.ts'

/** Pause before the search index is filled, until a burst of messages has passed: an index that lags half a second harms nobody. */
const fillRestMs = 500
/** Pause before the next attempt to fill the search index while the daemon is busy. */
const busyRestMs = 50
/**
 * Maximum number of conversations to which the search in one part of the index is narrowed, by a term for each. A reader who sees more conversations there sees
 * much of that part, which is then searched as a whole.
 */
const marksMax = 32

type SearchQuery = ParsedInputOf<'message.search'> & { limit: number }
type SearchAnswer = OutputOf<'message.search'>

/** A range of journal entries to search, in one conversation or in all. */
interface SearchRange {
  conversation: number | undefined
  firstSeq: number
  lastSeq: number
}

interface MessageSearchOptions {
  store: Store
  engine: Engine
  hub: EntryHub
  reads: LongReads
  path: string
  /** The number of journal entries in one part of the index; unset for the default. */
  partEntries?: number
}

export class MessageSearch {
  readonly #options: MessageSearchOptions
  readonly #load = new LoadMeter()
  #opened: SearchIndex | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** The size of the search index on the disk. */
  get bytes(): number {
    return statSync(this.#options.path, { throwIfNoEntry: false })?.size ?? 0
  }

  constructor(options: MessageSearchOptions) {
    this.#options = options
    options.hub.listen(() => this.#scheduleFill(fillRestMs))
  }

  *find(reader: Reader, asked: SearchQuery, pace: ReadTimeLimit): Steps<SearchAnswer> {
    const top = Math.min(this.#options.store.journal.lastSeq, (asked.before ?? Number.MAX_SAFE_INTEGER) - 1)
    const fields = yield* this.#ranges(reader, asked.channel, top)
    const page = new Page(asked.limit)
    if (fields.length === 0 || top < 1) return page.end()
    let [newest, oldest] = [0, top]
    for (const { firstSeq, lastSeq } of fields) {
      newest = Math.max(newest, Math.min(lastSeq, top))
      oldest = Math.min(oldest, firstSeq)
    }
    const index = this.#index()
    const last = index.partOf(oldest)
    const mayHold = index.partFilter(asked.text, asked.from === undefined ? [] : [senderMark(asked.from)])
    for (let part = index.partOf(newest); part >= last; part--) {
      const [low, high] = [index.lastEntryBefore(part), index.lastEntryBefore(part + 1)]
      const isNear = ({ firstSeq, lastSeq }: SearchRange) => firstSeq <= high && lastSeq > low
      const here = mayHold(part) ? fields.filter(isNear) : []
      for (const seq of here.length === 0 ? [] : yield* this.#matches(part, asked, here)) {
        yield
        if (seq > top || !here.some(({ firstSeq, lastSeq }) => seq >= firstSeq && seq <= lastSeq)) continue
        const message = this.#visibleMessage(reader, seq, asked)
        if (message && !page.add(message)) return page.end(page.lastSeq)
        if (pace.isSpent) return page.end(seq)
      }
      if (pace.isSpent && part > last) return page.end(low + 1)
    }
    return page.end()
  }

  /** Returns the ranges of entries to search: all entries for the key's holder, for anybody else the times that they spent in each conversation. */
  *#ranges(reader: Reader, channel: string | undefined, top: number): Steps<SearchRange[]> {
    const { visible, view } = this.#options.store
    const isAll = seesAll(reader)
    if (isAll && channel === undefined) return [{ conversation: undefined, firstSeq: 1, lastSeq: top }]
    if (isAll) {
      const conversation = view.conversationKey(channel as string)
      return conversation === undefined ? [] : [{ conversation, firstSeq: 1, lastSeq: top }]
    }
    const fields: SearchRange[] = []
    for (const span of reader.agent === undefined ? [] : visible.spans(reader.agent, channel)) {
      if (span && span.firstSeq <= top) fields.push(span)
      yield
    }
    return fields
  }

  /** Returns the entries in this part of the index, newest first, that match every condition. */
  *#matches(part: number, { text, from }: SearchQuery, fields: SearchRange[]): Steps<number[]> {
    const index = this.#index()
    const keys = new Set(fields.map(({ conversation }) => conversation))
    const some =
      keys.has(undefined) || keys.size > marksMax ? [] : [...keys].map((key) => conversationMark(key as number))
    const every = from === undefined ? [] : [senderMark(from)]
    let found: number[] | undefined
    for (const question of searchQueriesOf(text)) {
      let rows: number[] | undefined
      // Undefined means that the index was damaged and has been deleted: it is filled and searched again.
      while (rows === undefined) {
        while (index.fillPart(part)) yield
        rows = index.findInPart(part, queryWithMarks(question, every, some))
        yield
      }
      const those = found && new Set(rows)
      found = found ? found.filter((seq) => those?.has(seq)) : rows
      if (found.length === 0) break
    }
    return found ?? []
  }

  /** Returns a found message if the reader may see it: the index only says where to look, and the rule of core/sight.ts decides. */
  #visibleMessage(reader: Reader, seq: number, { from, channel }: SearchQuery): Message | undefined {
    const { queries, view } = this.#options.store
    const head = queries.headAt(seq)
    if (!head || !sees(view, reader, 'message', head)) return undefined
    if ((from !== undefined && head.from !== from) || (channel !== undefined && head.conversation !== channel))
      return undefined
    return queries.messageWithBody(head)
  }

  /**
   * Removes pruned messages up to this entry from the index, a part at a time. Gives the space back to the file system in slices that end with `isEnough()`.
   */
  async *forgetPruned(through: number, isEnough: () => () => boolean): AsyncGenerator<undefined> {
    if (this.#isClosed || (!this.#opened && this.bytes === 0)) return
    for (const part of this.#index().partsBelow(through)) {
      yield
      if (this.#isClosed) return
      this.#index().emptyPart(part)
    }
    for (let isMore = true; isMore && !this.#isClosed; yield) isMore = this.#index().releasePages(isEnough())
    this.#scheduleFill(fillRestMs)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#opened?.close()
  }

  /** Returns the search index, which is opened when it is first needed: an idle workspace keeps no second database open. */
  #index(): SearchIndex {
    const { store, path, partEntries } = this.#options
    const { database, journal } = store
    this.#opened ??= new SearchIndex(database, path, () => journal.lastSeq, partEntries)
    return this.#opened
  }

  #scheduleFill(ms: number): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#isClosed) return
      // Commands and reads go first, and a busy daemon has no time for filling: a search fills the parts that it needs by itself.
      const { engine, reads } = this.#options
      const isBusy = !engine.isIdle || reads.size > 0 || this.#load.isHigh(performance.now())
      if (isBusy) return this.#scheduleFill(busyRestMs)
      try {
        if (this.#fillSome()) this.#scheduleFill(0)
      } catch {
        // An error here, such as a full disk, loses no message. The next message or search tries again, and a search reports the error.
      }
    }, ms)
    this.#timer.unref()
  }

  /** Adds the next messages to the index, or, once it has all, stores which words a part has. Returns whether it did anything. */
  #fillSome(): boolean {
    const index = this.#index()
    const unfilled = index.newestUnfilledPart
    if (unfilled !== undefined) return index.fillPart(unfilled)
    const unnoted = index.newestUnnotedPart
    if (unnoted !== undefined) index.noteWords(unnoted)
    return unnoted !== undefined
  }
}

/** A page of found messages, bounded in number and bytes, with at least one message. */
class Page {
  readonly #limit: number
  readonly #messages: Message[] = []
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The journal number of the last message that fitted into the page. */
  get lastSeq(): number {
    return this.#messages[this.#messages.length - 1]?.seq as number
  }

  add(message: Message): boolean {
    this.#bytes += Buffer.byteLength(message.body)
    const isFull =
      this.#messages.length === this.#limit || (this.#messages.length > 0 && this.#bytes > limits.pageBytesMax)
    if (!isFull) this.#messages.push(message)
    return !isFull
  }

  /** Ends the page; `next` continues the search. */
  end(next?: number): SearchAnswer {
    return next === undefined ? { messages: this.#messages, more: 0 } : { messages: this.#messages, more: 1, next }
  }
}
