// Keeps a replica (this machine's copy of a shared workspace) up to date: fetches new journal entries after every hint of the cluster, and every few
// seconds, because a hint may be lost.

import type { Alarm, Clock } from '../machine/clock.ts'
import { type ClusterJournal, ClusterUnreachable, pageEntriesMax, type StopReason } from './cluster-journal.ts'
import type { HaltReason, Replica } from './replica.ts'

/** Interval between looks at the cluster's journal while hints arrive: a lost hint delays an entry by at most this. */
const lookWithHintsMs = 5_000
/** Interval between looks at the cluster's journal if hints do not arrive, or if the cluster did not answer. */
const lookWithoutHintsMs = 1_000

export interface FollowerOptions {
  replica: Replica
  journal: ClusterJournal
  clock: Clock
  /** Called when this machine cannot follow the journal any further. */
  onStopped(stopped: StopReason | HaltReason): void
  /** Called on a failure other than an unreachable cluster. */
  onTrouble(error: Error): void
}

export class Follower {
  readonly #options: FollowerOptions
  readonly #hints: { stop(): void }
  #alarm: Alarm | undefined
  #looking: Promise<void> | undefined
  /** Whether a hint came while a page of entries was being fetched: the page may lack the entry that the hint is about. */
  #mustLookAgain = false
  #isStopped = false
  #reach: () => void = () => {}
  /** The time, by the steady clock, at which the replica was last known to lack no entry. At first, the time at which following began. */
  #completeAt: number
  /** Resolves once the replica has all entries that the cluster had at the time of a call. */
  readonly reached = new Promise<void>((resolve) => (this.#reach = resolve))

  constructor(options: FollowerOptions) {
    this.#options = options
    const { journal, replica, clock } = options
    this.#completeAt = clock.steady()
    this.#hints = journal.onHint((head) => {
      if (head > replica.position.seq) void this.catchUp()
    })
    void this.catchUp()
  }

  /** Resolves once the replica has all entries, or once fetching them has failed. */
  catchUp(): Promise<void> {
    this.#mustLookAgain = true
    if (this.#isStopped) return Promise.resolve()
    this.#looking ??= this.#lookNow()
    return this.#looking
  }

  async #lookNow(): Promise<void> {
    this.#alarm?.cancel()
    let hasFailed = false
    try {
      while (this.#mustLookAgain && !this.#isStopped) {
        this.#mustLookAgain = false
        await this.#page()
      }
    } catch (error) {
      hasFailed = true
      // An unreachable cluster is no trouble here: commands that have to store something are refused with that reason.
      if (!(error instanceof ClusterUnreachable)) this.#options.onTrouble(error as Error)
    }
    this.#looking = undefined
    const { clock, journal } = this.#options
    const ms = hasFailed || journal.hasHints === false ? lookWithoutHintsMs : lookWithHintsMs
    if (!this.#isStopped) this.#alarm = clock.after(ms, () => void this.catchUp())
  }

  async #page(): Promise<void> {
    const { replica, journal, clock } = this.#options
    const askedAt = clock.steady()
    const followed = await journal.follow(replica.position, pageEntriesMax)
    if (this.#isStopped) return
    if (followed.kind !== 'entries') return this.#stopFor(followed)
    replica.apply(followed.entries)
    if (replica.halted) return this.#stopFor(replica.halted)
    if (followed.isMore) this.#mustLookAgain = true
    else {
      // The time of the call counts, not that of the answer, which need not contain entries stored in between.
      this.#completeAt = askedAt
      this.#reach()
    }
  }

  /** The time since the replica was last known to lack no entry, or else since following began. */
  get lagMs(): number {
    return this.#options.clock.steady() - this.#completeAt
  }

  #stopFor(stopped: StopReason | HaltReason): void {
    this.stop()
    this.#options.onStopped(stopped)
  }

  stop(): void {
    this.#isStopped = true
    this.#hints.stop()
    this.#alarm?.cancel()
  }
}
