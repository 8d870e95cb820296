// A replica: one machine's copy of a shared workspace. It applies the entries of the shared journal in order, whichever machine appended them. An entry that
// is malformed, or that its machine had no right to write, is void: every machine ignores it, because all judge it by the same entries before it.

import type { EntryHub } from '../broker/hub.ts'
import { findObjection, type Objection } from '../core/facts/judge.ts'
import { isLabel } from '../core/facts/shape.ts'
import { isKnownFact, malformedField } from '../core/facts/table.ts'
import { administratorMark, copyMark, type EntryOrigin, type JournalEntry, type VoidEntry } from '../core/journal.ts'
import { newestSharedFormat } from '../core/workspaces.ts'
import { AwaitedReceipts } from '../store/awaited-receipts.ts'
import { isContradiction, type Store } from '../store/store.ts'
import { type JournalPosition, journalStart, type SharedEntry } from './cluster-journal.ts'
import { coversChangedKeys } from './keys.ts'

/** Why the replica has halted before an entry that it cannot apply: it must not skip an entry. */
export type HaltReason =
  /** The entry needs a newer format than this version knows, or, in format 1, contains an unknown fact. */
  | { kind: 'newer' }
  /** In format 1, the entry is about an agent whose home is another machine than the one that wrote it. The cluster's database cannot check facts. */
  | { kind: 'forged'; machine: string; agent?: string; seq: number }

/** Thrown if an entry could not be applied. The replica then takes the entry as void. */
class InapplicableEntry extends Error {
  readonly seq: number

  constructor(seq: number, why: string) {
    super(why)
    this.seq = seq
  }
}

export class Replica {
  readonly store: Store
  readonly hub: EntryHub
  readonly awaitedReceipts: AwaitedReceipts
  /** Called when messages have come back after a failover, and stored receipts for them became entries of this machine's own journal. */
  onReceiptsReturned: () => void = () => {}
  readonly #onVoid: (entry: VoidEntry) => void
  #position: JournalPosition
  #halted: HaltReason | undefined

  /** Opens the replica. `onVoid` is called for each entry that is void, so that this machine ignores it. */
  constructor(store: Store, hub: EntryHub, onVoid: (entry: VoidEntry) => void = () => {}) {
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

  /** Applies entries, both those of other machines and those of this daemon. Entries that the replica has already are skipped. */
  apply(entries: readonly SharedEntry[]): void {
    const fresh = entries.filter(({ seq }) => seq > this.#position.seq)
    if (fresh.length === 0 || this.#halted) return
    // Ignores entries that do not continue this replica's history. An answer sent before a failover of the cluster may arrive after one sent afterwards, and
    // contain other entries; the cluster's next answer shows which ones are lost.
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

  /**
   * Writes new entries in one transaction. `unfit`: entries that could not be applied, by number, with the reason. Whenever one more is found, the
   * transaction starts again and takes that entry as void.
   */
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

  /** Makes the void form of an entry. Its command id is replaced, so that no machine can block a command of another machine by using its id. */
  #voided({ seq, at, by, machine, mark }: SharedEntry, voidFor: string): JournalEntry & EntryOrigin {
    return { seq, at, by, cause: `void ${seq}`, rule: 'void', outcome: {}, facts: [], machine, mark, voidFor }
  }

  /**
   * Whether this machine checks the entry's right to be there. Entries that were copied into the cluster when sharing began are not checked: they come from
   * the only machine that had the workspace.
   */
  #isJudged({ mark }: SharedEntry): boolean {
    return this.store.view.format() > 1 && !mark.startsWith(copyMark)
  }

  #whyVoid(entry: SharedEntry): string | undefined {
    if (entry.isBroken || !isLabel(entry.by)) return 'its text is malformed or too long'
    const unknown = entry.facts.find((fact) => !isKnownFact(fact))
    if (unknown) return 'it holds a fact of an unknown type'
    const odd = entry.facts.find(malformedField)
    if (odd) return `${malformedField(odd)} of its ${odd.type} is malformed`
    if (entry.mark.startsWith(administratorMark)) return undefined
    if (entry.writes && !coversChangedKeys(entry.writes, entry.facts)) return 'its list of conflict keys is incomplete'
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
