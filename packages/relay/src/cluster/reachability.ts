// Tracks, for one workspace, whether the cluster answers, and if not, since when and why. Every call to the workspace's journal updates it.

import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { ClusterOutage } from '../core/shared-trouble.ts'
import type { Clock } from '../machine/clock.ts'
import { type ClusterJournal, ClusterUnreachable } from './cluster-journal.ts'
import { unreachedRefusal } from './unreached.ts'

/** After failing for this long, or after a failure that no retry heals, callers do not wait for the cluster any more; retries go on in the background. */
const hopelessMs = 10_000

export class ClusterReachability {
  readonly #place: string
  readonly #clock: Clock
  /** Time of the cluster's last answer. */
  #heardAt: number | undefined
  /** The present failure. `from`: the time, by the steady clock, of the first failure since the last answer. */
  #failure: { from: number; last: ClusterUnreachable } | undefined

  /** `place`: the server's address, in the form that people are shown. */
  constructor(place: string, clock: Clock) {
    this.#place = place
    this.#clock = clock
  }

  /** Why the cluster cannot be reached; undefined while it answers. */
  get cutOff(): ClusterOutage | undefined {
    if (!this.#failure) return undefined
    const since = this.#heardAt === undefined ? {} : { since: new Date(this.#heardAt).toISOString() }
    const { text, isLasting } = this.#failure.last.fault
    return { place: this.#place, why: text, ...since, ...(isLasting ? { isLasting } : {}) }
  }

  get isHopeless(): boolean {
    if (!this.#failure) return false
    const { from, last } = this.#failure
    return last.fault.isLasting || this.#clock.steady() - from > hopelessMs
  }

  /** Makes the refusal for callers while the cluster cannot be reached. */
  unreachableRefusal(workspace: string): Refusal {
    const [at, last] = [this.#heardAt, this.#failure?.last]
    if (!last) return refusal('cluster.unreachable', { workspace })
    return unreachedRefusal(last, { workspace, place: this.#place, lastHeard: lastHeardText(at, this.#clock.now()) })
  }

  /** Wraps the journal so that every answer and every failure of a call is recorded here. */
  watchJournal(journal: ClusterJournal): ClusterJournal {
    const noted = <T>(asked: Promise<T>) => this.#note(asked)
    return {
      append: (append) => noted(journal.append(append)),
      appendInTurn: (known, decide) => noted(journal.appendInTurn(known, decide)),
      follow: (known, limit) => noted(journal.follow(known, limit)),
      payload: (seq) => noted(journal.payload(seq)),
      onHint: (listener) => journal.onHint(listener),
      get hasHints() {
        return journal.hasHints
      },
    }
  }

  async #note<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked
      this.#heardAt = this.#clock.now()
      this.#failure = undefined
      return answer
    } catch (error) {
      if (error instanceof ClusterUnreachable)
        this.#failure = { from: this.#failure?.from ?? this.#clock.steady(), last: error }
      throw error
    }
  }
}
