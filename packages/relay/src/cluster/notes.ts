// Notes: reports of receipts, which this machine sends to the other machines about once a second, for the agents at home on this machine. A note depends
// on nothing in the journal, and no decision depends on it. Changes that were not reported before a crash are reported after it.

import { daemonName, type Fact, type Ids, type NotedReceipt, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { Alarm, Clock } from '../machine/clock.ts'
import type { LocalEntry } from '../store/local-journal.ts'
import type { Append, AppendResult, SharedDraft } from './cluster-journal.ts'
import { changedKeysOf } from './keys.ts'
import type { Replica } from './replica.ts'

/** Maximum age of receipts on other machines, while the cluster can be reached. */
const noteMs = 1_000
/** Maximum number of receipts in one report. */
const receiptsMax = 500

export interface NotesOptions {
  machine: string
  replica: Replica
  clock: Clock
  ids: Ids
  /** Appends, and takes in the entries that come back. Returns a refusal if that failed. */
  append(append: Append): Promise<AppendResult | { refusal: Refusal }>
  onTrouble(error: Error): void
}

/** Which parts of a receipt have changed. */
interface ReceiptChange {
  isOffered?: boolean
  isRead?: boolean
}

export class Notes {
  readonly #options: NotesOptions
  #alarm: Alarm | undefined
  #isStopped = false
  /** The last call of `flush`; the next one begins after it. */
  #flushed: Promise<Refusal | undefined> = Promise.resolve(undefined)
  /** The number in the local journal up to which no entry holds anything that other machines need to know. */
  #passed = 0

  constructor(options: NotesOptions) {
    this.#options = options
    options.replica.onReceiptsReturned = () => this.schedule()
    if (this.#told < this.#last) this.schedule()
  }

  get #last(): number {
    return this.#options.replica.store.local?.lastSeq ?? 0
  }

  /** The number in the local journal up to which entries have been reported to the other machines. */
  get #told(): number {
    return Math.max(this.#passed, Number(this.#options.replica.store.meta('noted') ?? 0))
  }

  /** Schedules a report, to be sent within a second. */
  schedule(): void {
    if (this.#alarm || this.#isStopped || this.#told >= this.#last) return
    this.#alarm = this.#options.clock.after(noteMs, () => {
      this.#alarm = undefined
      void this.flush().then(() => this.schedule())
    })
  }

  /** Reports everything that was done by now. Returns a refusal if that failed. */
  flush(): Promise<Refusal | undefined> {
    this.#flushed = this.#flushed
      .then(() => this.#tell())
      .catch((error: Error) => {
        this.#options.onTrouble(error)
        return refusal('fault', { why: error.message })
      })
    return this.#flushed
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm?.cancel()
  }

  async #tell(): Promise<Refusal | undefined> {
    const { replica, append } = this.#options
    for (const until = this.#last; this.#told < until && !this.#isStopped; ) {
      const draft = this.#nextNote()
      if (!draft) continue
      const appended = await append({ position: replica.position, reads: [], drafts: [draft] })
      if ('refusal' in appended) return appended.refusal
    }
    return undefined
  }

  /** Makes the next report; undefined if the entries up to the next place hold nothing to report. */
  #nextNote(): SharedDraft | undefined {
    const { clock, ids } = this.#options
    const { changed, through } = this.#changes()
    const facts = [...changed].flatMap(([agent, messages]) => this.#noteOf(agent, messages, through))
    if (facts.length === 0) this.#passed = through
    if (facts.length === 0) return undefined
    const stamp = { at: clock.now(), by: daemonName, cause: ids('n') }
    return { ...stamp, rule: 'deliveries.note', outcome: {}, facts, writes: changedKeysOf(facts) }
  }

  /** Collects changed receipts, by agent and message. */
  #changes(): { changed: Map<string, Map<string, ReceiptChange>>; through: number } {
    const changed = new Map<string, Map<string, ReceiptChange>>()
    let [count, through] = [0, this.#told]
    for (const entry of this.#options.replica.store.local?.entriesAfter(through) ?? []) {
      count += take(changed, entry)
      through = entry.seq
      if (count >= receiptsMax) break
    }
    return { changed, through }
  }

  /** Makes the facts of a report: each receipt in its present state, whatever happened in between. */
  #noteOf(agent: string, messages: Map<string, ReceiptChange>, through: number): Fact[] {
    const { machine, replica } = this.#options
    const { view, queries } = replica.store
    const epoch = queries.lastEpoch(agent, machine)
    if (epoch === undefined) return []
    const receipts = [...messages].flatMap(([id, { isOffered, isRead }]): NotedReceipt[] => {
      const message = view.message(id)
      const row = message && view.receipt(agent, message)
      if (!row) return []
      const { route, offeredAt, readAt } = row
      const offered =
        isOffered && offeredAt !== undefined ? { offeredAt, ...(route === undefined ? {} : { route }) } : {}
      const noted = { message: id, ...offered, ...(isRead && readAt !== undefined ? { readAt } : {}) }
      return Object.keys(noted).length > 1 ? [noted] : []
    })
    return receipts.length === 0 ? [] : [{ type: 'deliveries.noted', agent, machine, epoch, through, receipts }]
  }
}

/** Adds the receipts of an entry to `changed`. Returns how many of them are new. */
function take(changed: Map<string, Map<string, ReceiptChange>>, { facts }: LocalEntry): number {
  let count = 0
  for (const fact of facts) {
    if (!('message' in fact) || !fact.type.startsWith('delivery.')) continue
    const { agent, message } = fact as { agent: string; message: string }
    const messages = changed.get(agent) ?? new Map<string, ReceiptChange>()
    changed.set(agent, messages)
    if (!messages.has(message)) count++
    const part = fact.type === 'delivery.read' ? { isRead: true } : { isOffered: true }
    messages.set(message, { ...messages.get(message), ...part })
  }
  return count
}
