// One machine's copy of a shared workspace: it takes in entries in the order of their numbers, whoever appended them and however they came.

import type { Hub } from '../broker/hub.ts'
import { spokenFor } from '../core/homes.ts'
import type { Store } from '../store/store.ts'
import { beginning, copyMark, type Place, type SharedEntry } from './cluster-journal.ts'
import { isKnownFact } from './keys.ts'

/** It stands before an entry that it does not take in: nothing may be left out. */
export type Halted =
  /** A fact that this version does not know. */
  | { kind: 'newer' }
  /** Two answers, of before and after a failover, tell two histories. */
  | { kind: 'diverged'; head: number }
  /** A machine speaks for an agent that is at home on another one. The cluster cannot see that in the facts. */
  | { kind: 'forged'; machine: string; agent: string; seq: number }

export class Replica {
  readonly store: Store
  readonly hub: Hub
  #known: Place
  #halted: Halted | undefined

  constructor(store: Store, hub: Hub) {
    this.store = store
    this.hub = hub
    const { lastSeq, lastMark } = store.journal
    if (lastSeq > 0 && lastMark === undefined) throw new Error('this workspace is not a copy of a shared one')
    this.#known = lastSeq === 0 ? beginning : { seq: lastSeq, mark: lastMark as string }
  }

  get known(): Place {
    return this.#known
  }

  get halted(): Halted | undefined {
    return this.#halted
  }

  /** The one way in, for what others appended and for what this daemon did. An entry that has come before is passed over. */
  apply(entries: readonly SharedEntry[]): void {
    const fresh = entries.filter(({ seq }) => seq > this.#known.seq)
    if (fresh.length === 0 || this.#halted) return
    const same = entries.find(({ seq }) => seq === this.#known.seq)
    if (same && same.mark !== this.#known.mark) {
      this.#halted = { kind: 'diverged', head: (fresh.at(-1) as SharedEntry).seq }
      return
    }
    const taken: SharedEntry[] = []
    this.store.transact(() => {
      for (const entry of fresh) {
        this.#halted = this.#whyNot(entry)
        if (this.#halted) break
        if (!this.store.apply([entry])) throw new Error(`a command has two entries, the second is ${entry.seq}`)
        taken.push(entry)
      }
    })
    const last = taken.at(-1)
    if (!last) return
    this.#known = { seq: last.seq, mark: last.mark }
    this.hub.tell(taken)
  }

  #whyNot(entry: SharedEntry): Halted | undefined {
    if (!entry.facts.every(isKnownFact)) return { kind: 'newer' }
    // Copied when the workspace began to be shared: whoever spoke in it did so on the machine that it lived on.
    if (entry.mark.startsWith(copyMark)) return undefined
    const { machine, seq } = entry
    const agent = spokenFor(this.store.view, machine, entry, (name, epoch) => this.store.queries.homeAt(name, epoch))
    return agent === undefined ? undefined : { kind: 'forged', machine, agent, seq }
  }
}
