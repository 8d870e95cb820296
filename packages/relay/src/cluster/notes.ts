// Notes: about once a second, this machine reports to the other machines what became of the messages of agents that have their home here (their receipts). A
// note depends on no other entry, and no decision depends on a note. After a crash, unreported changes are reported.

import { daemonName, type Fact, type Ids, type NotedReceipt, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { Alarm, Clock } from '../machine/clock.ts'
import type { LocalEntry } from '../store/local-journal.ts'
import type { Append, AppendResult, SharedDraft } from './cluster-journal.ts'
import { changedKeysOf } from './keys.ts'
import type { Replica } from './replica.ts'

/** Interval between reports: while the cluster can be reached, other machines know receipts with at most this delay. */
const noteMs = 1_000
/** Maximum number of receipts in one report, roughly: the report takes whole entries of the local journal. */
const receiptsMax = 500

export interface NotesOptions {
  machine: string
  replica: Replica
  clock: Clock
  ids: Ids
  /** Appends a note, and applies the entries that the cluster returns. Returns a refusal if that failed. */
  append(append: Append): Promise<AppendResult | { refusal: Refusal }>
  onTrouble(error: Error): void
}

/** What has changed in the receipt of one message. */
interface ReceiptChange {
  isOffered?: boolean
  isRead?: boolean
}

export class Notes {
  readonly #options: NotesOptions
  #alarm: Alarm | undefined
  #isStopped = false
  /** The result of the latest `flush`. The next one waits for it. */
  #flushed: Promise<Refusal | undefined> = Promise.resolve(undefined)
  /** The number of the last entry of the local journal that was looked at and had nothing to report. */
  #passed = 0

  constructor(options: NotesOptions) {
    this.#options = options
    options.replica.onReceiptsReturned = () => this.schedule()
    if (this.#reported < this.#last) this.schedule()
  }

  get #last(): number {
    return this.#options.replica.store.local?.lastSeq ?? 0
  }

  /** The number of the last entry of the local journal that was reported or had nothing to report. */
  get #reported(): number {
    return Math.max(this.#passed, Number(this.#options.replica.store.meta('noted') ?? 0))
  }

  /** Schedules a report, to be sent within a second. */
  schedule(): void {
    if (this.#alarm || this.#isStopped || this.#reported >= this.#last) return
    this.#alarm = this.#options.clock.after(noteMs, () => {
      this.#alarm = undefined
      void this.flush().then(() => this.schedule())
    })
  }

  /** Reports everything that has changed up to now. Returns a refusal if that failed. */
  flush(): Promise<Refusal | undefined> {
    this.#flushed = this.#flushed
      .then(() => this.#report())
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

  async #report(): Promise<Refusal | undefined> {
    const { replica, append } = this.#options
    for (const until = this.#last; this.#reported < until && !this.#isStopped; ) {
      const draft = this.#nextNote()
      if (!draft) continue
      const appended = await append({ position: replica.position, reads: [], drafts: [draft] })
      if ('refusal' in appended) return appended.refusal
    }
    return undefined
  }

  /** Makes the next report. Undefined if the next entries of the local journal have nothing to report. */
  #nextNote(): SharedDraft | undefined {
    const { clock, ids } = this.#options
    const { changed, through } = this.#changes()
    const facts = [...changed].flatMap(([agent, messages]) => this.#noteOf(agent, messages, through))
    if (facts.length === 0) this.#passed = through
    if (facts.length === 0) return undefined
    const stamp = { at: clock.now(), by: daemonName, cause: ids('n') }
    return { ...stamp, rule: 'deliveries.note', outcome: {}, facts, writes: changedKeysOf(facts) }
  }

  /** Collects the receipts that changed in the next entries of the local journal, by agent and message. `through`: the last entry that was looked at. */
  #changes(): { changed: Map<string, Map<string, ReceiptChange>>; through: number } {
    const changed = new Map<string, Map<string, ReceiptChange>>()
    let [count, through] = [0, this.#reported]
    for (const entry of this.#options.replica.store.local?.entriesAfter(through) ?? []) {
      count += take(changed, entry)
      through = entry.seq
      if (count >= receiptsMax) break
    }
    return { changed, through }
  }

  /** Makes the facts of a report. They contain each receipt in its present state, not the changes on the way to it. */
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

/** Adds the receipts that an entry changes to `changed`. Returns how many were not in it before. */
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
