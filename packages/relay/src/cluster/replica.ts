// A replica: one machine's copy of a shared workspace. It takes in entries in the order of their numbers, whoever appended them and however they came. An
// entry that its machine may not have written, or that makes no sense, is void here and on every other machine: all of them judge it by the entries
// before it.

import type { Hub } from '../broker/hub.ts'
import { findObjection, type Objection } from '../core/facts/judge.ts'
import { isLabel } from '../core/facts/shape.ts'
import { isKnownFact, malformedField } from '../core/facts/table.ts'
import { administratorMark, copyMark, type EntryOrigin, type JournalEntry, type VoidEntry } from '../core/journal.ts'
import { newestSharedFormat } from '../core/workspaces.ts'
import { AwaitedReceipts } from '../store/awaited-receipts.ts'
import { isContradiction, type Store } from '../store/store.ts'
import { type JournalPosition, journalStart, type SharedEntry } from './cluster-journal.ts'
import { coversChangedKeys } from './keys.ts'

/** Why the replica has halted before an entry that it cannot take in: no entry may be left out. */
export type HaltReason =
  /** The entry needs a format, or in format 1 holds a fact, that this version does not know. */
  | { kind: 'newer' }
  /** In format 1: a machine speaks for an agent that is at home on another machine. The cluster does not see that in the facts. */
  | { kind: 'forged'; machine: string; agent?: string; seq: number }

/** Thrown if an entry could not be applied: the replica then takes it in again as a void entry. */
class InapplicableEntry extends Error {
  readonly seq: number

  constructor(seq: number, why: string) {
    super(why)
    this.seq = seq
  }
}

export class Replica {
  readonly store: Store
  readonly hub: Hub
  readonly awaitedReceipts: AwaitedReceipts
  /** Called when messages have arrived that led to new entries in this machine's own journal. */
  onReceiptsReturned: () => void = () => {}
  readonly #onVoid: (entry: VoidEntry) => void
  #position: JournalPosition
  #halted: HaltReason | undefined

  /** Opens the replica. `onVoid` is called for each entry that counts for nothing. */
  constructor(store: Store, hub: Hub, onVoid: (entry: VoidEntry) => void = () => {}) {
    this.store = store
    this.hub = hub
    this.awaitedReceipts = new AwaitedReceipts(store)
    this.#onVoid = onVoid
    const { lastSeq, lastMark } = store.journal
    if (lastSeq > 0 && lastMark === undefined) throw new Error('this workspace is not a copy of a shared one')
    this.#position = lastSeq === 0 ? journalStart : { seq: lastSeq, mark: lastMark as string }
  }

  get position(): JournalPosition {
    return this.#position
  }

  get halted(): HaltReason | undefined {
    return this.#halted
  }

  /** Takes in entries, both those that other machines appended and those of this daemon. Entries that the replica has already are skipped. */
  apply(entries: readonly SharedEntry[]): void {
    const fresh = entries.filter(({ seq }) => seq > this.#position.seq)
    if (fresh.length === 0 || this.#halted) return
    // An answer from before a failover of the cluster may come after one from after it, and tell another history. The cluster's next answer says which
    // history is lost.
    const same = entries.find(({ seq }) => seq === this.#position.seq)
    if (same && same.mark !== this.#position.mark) return
    const taken = this.#take(fresh, new Map())
    const last = taken.at(-1)
    if (!last) return
    this.#position = { seq: last.seq, mark: last.mark }
    this.hub.tell(taken)
    for (const { seq, machine, voidFor } of taken)
      if (voidFor !== undefined) this.#onVoid({ seq, machine, why: voidFor })
  }

  /** Writes new entries. `unfit`: entries that could not be applied, with the reason. Each newly found one restarts the whole transaction. */
  #take(fresh: readonly SharedEntry[], unfit: Map<number, string>): (JournalEntry & EntryOrigin)[] {
    const taken: (JournalEntry & EntryOrigin)[] = []
    try {
      const hasReturned = this.store.transact(() => {
        for (const entry of fresh) {
          this.#halted = this.#whyNot(entry)
          if (this.#halted) break
          taken.push(this.#write(entry, unfit.get(entry.seq)))
        }
        return this.awaitedReceipts.storeArrived(taken.flatMap(({ facts }) => facts))
      })
      if (hasReturned) this.onReceiptsReturned()
    } catch (error) {
      if (!(error instanceof InapplicableEntry)) throw error
      return this.#take(fresh, unfit.set(error.seq, error.message))
    }
    return taken
  }

  #write(entry: SharedEntry, unfitFor?: string): JournalEntry & EntryOrigin {
    const why = this.#isJudged(entry) ? (unfitFor ?? this.#whyVoid(entry)) : undefined
    const written = why === undefined ? entry : this.#voided(entry, why)
    try {
      if (!this.store.apply([written])) throw new Error(`a command has two entries, the second is ${entry.seq}`)
    } catch (error) {
      if (written !== entry || !this.#isJudged(entry) || !isContradiction(error)) throw error
      throw new InapplicableEntry(entry.seq, (error as Error).message)
    }
    return written
  }

  /** Makes the void form of an entry. It does not count as an entry of its command: no machine can use up the id of another's command. */
  #voided({ seq, at, by, machine, mark }: SharedEntry, voidFor: string): JournalEntry & EntryOrigin {
    return { seq, at, by, cause: `void ${seq}`, rule: 'void', outcome: {}, facts: [], machine, mark, voidFor }
  }

  /**
   * Whether the entry is judged. Entries that were copied when the workspace began to be shared come from the machine on which it lived, and are not judged.
   */
  #isJudged({ mark }: SharedEntry): boolean {
    return this.store.view.format() > 1 && !mark.startsWith(copyMark)
  }

  #whyVoid(entry: SharedEntry): string | undefined {
    if (entry.isBroken || !isLabel(entry.by)) return 'it is no entry, or too long'
    const unknown = entry.facts.find((fact) => !isKnownFact(fact))
    if (unknown) return 'it holds a fact of an unknown type'
    const odd = entry.facts.find(malformedField)
    if (odd) return `${malformedField(odd)} of its ${odd.type} is malformed`
    if (entry.mark.startsWith(administratorMark)) return undefined
    if (entry.writes && !coversChangedKeys(entry.writes, entry.facts))
      return 'it does not name everything that it changes'
    const objection = this.#objection(entry)
    return objection && objectionText(objection, entry.machine)
  }

  #whyNot(entry: SharedEntry): HaltReason | undefined {
    const isTrusted = entry.mark.startsWith(copyMark) || entry.mark.startsWith(administratorMark)
    const isRaised = ({ type, format }: { type: string; format?: unknown }) =>
      type === 'workspace.raised' && typeof format === 'number' && format > newestSharedFormat
    if (isTrusted && entry.facts.some(isRaised)) return { kind: 'newer' }
    if (this.#isJudged(entry)) return undefined
    if (!entry.facts.every(isKnownFact)) return { kind: 'newer' }
    if (isTrusted) return undefined
    const { machine, seq } = entry
    if (entry.isBroken) return { kind: 'forged', machine, seq }
    const objection = this.#objection(entry)
    return objection && { kind: 'forged', machine, agent: objection.agent, seq }
  }

  #objection(entry: SharedEntry): Objection | undefined {
    const { view, queries } = this.store
    return findObjection(view, entry.machine, entry, (agent, epoch) => queries.homeAt(agent, epoch))
  }
}

function objectionText({ type, agent }: Objection, machine: string): string {
  if (type === undefined && agent === undefined) return `${machine} was removed`
  if (type === undefined) return `${machine} may not speak for ${agent}`
  return `${machine} may not say ${type}${agent === undefined ? '' : ` of ${agent}`}`
}
