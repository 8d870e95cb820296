// When the search index is filled: after replies have left and while nothing waits; and to the end before a search answers.

import { limits, type Message } from '@agent-relay/sdk/protocol'
import { canSee } from '../core/messages.ts'
import type { MessageHead } from '../core/view.ts'
import { SearchIndex } from '../store/search.ts'
import type { Store } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { Reader } from './events.ts'
import type { Hub } from './hub.ts'

/** Let a burst pass first: an index that lags half a second harms nobody. */
const restMs = 500
const rowsPerLook = 200

export class Search {
  readonly #store: Store
  readonly #engine: Engine
  readonly #path: string
  #opened: SearchIndex | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(store: Store, engine: Engine, hub: Hub, path: string) {
    this.#store = store
    this.#engine = engine
    this.#path = path
    hub.listen(() => this.#scheduleFill(restMs))
  }

  async find(reader: Reader, text: string, filter: { from?: string; channel?: string }, limit: number) {
    const index = this.#index()
    while (index.advance()) await new Promise(setImmediate)
    const messages: Message[] = []
    let bytes = 0
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = index.find(text, before, rowsPerLook)
      for (const seq of rows) {
        const message = this.#store.queries.messageAt(seq)
        if (!message || !this.#maySee(reader, message)) continue
        if (filter.from !== undefined && message.from !== filter.from) continue
        if (filter.channel !== undefined && message.channel !== filter.channel) continue
        bytes += Buffer.byteLength(message.body)
        const isFull = messages.length === limit || (messages.length > 0 && bytes > limits.pageBytesMax)
        if (isFull) return { messages, more: 1 }
        messages.push(message)
      }
      if (rows.length < rowsPerLook) return { messages, more: 0 }
      before = rows[rows.length - 1] as number
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#opened?.close()
  }

  /** Opened on first need: an idle workspace holds no second database. */
  #index(): SearchIndex {
    this.#opened ??= new SearchIndex(this.#store.database, this.#path, this.#store.journal.lastSeq)
    return this.#opened
  }

  #maySee(reader: Reader, message: Message): boolean {
    if (reader.isHolder) return true
    const head = this.#store.view.message(message.id) as MessageHead
    return reader.agent !== undefined && canSee(this.#store.view, reader.agent, head)
  }

  #scheduleFill(ms: number): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#isClosed) return
      // Something waits: it goes first.
      if (!this.#engine.isIdle) return this.#scheduleFill(restMs)
      try {
        if (this.#index().advance()) this.#scheduleFill(0)
      } catch {
        // A full disk, say. The messages are stored all the same: the next one or the next search tries again, and a search tells its asker.
      }
    }, ms)
    this.#timer.unref()
  }
}
