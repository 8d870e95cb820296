// A cluster in memory that keeps the contract of cluster/cluster-journal.ts. Each machine's wire decides about faults on the way to it; the
// cluster itself can crash, and can lose its last entries in a failover.

import {
  type Append,
  type AppendResult,
  type ClusterJournal,
  ClusterUnreachable,
  entryAheadMsMax,
  type FollowResult,
  type JournalPosition,
  pageEntriesMax,
  type SharedDraft,
  type SharedEntry,
  type StopReason,
} from '../../src/cluster/cluster-journal.ts'
import { conflictKeys } from '../../src/core/conflict-keys.ts'
import { administratorMark, type EntryDraft } from '../../src/core/journal.ts'

/** The way between one machine and the cluster. Each message passes it once; a message that is lost never resolves. */
export interface Wire {
  /** To the cluster. Fails where it is known at once that there is no way. */
  there(): Promise<void>
  /** Back to the machine. */
  back(): Promise<void>
  /** How often, and when, a hint arrives: never, once, late or twice. */
  hint(arrive: () => void): void
}

/** Nothing is late, and nothing is lost. */
export const soundWire: Wire = {
  there: async () => {},
  back: async () => {},
  hint: (arrive) => queueMicrotask(arrive),
}

/** One append; a failover applies these again. */
interface Commit {
  entries: SharedEntry[]
  payloads: (Uint8Array | undefined)[]
}

interface Turn {
  lock: object
  begin(): void
  fail(error: Error): void
}

export class FakeCluster {
  readonly now: () => number
  readonly #after: (ms: number, work: () => void) => { cancel(): void }
  readonly #machines = new Map<string, { boot: number; isRevoked: boolean }>()
  readonly #listeners = new Map<(head: number) => void, object>()
  #commits: Commit[] = []
  #entries: SharedEntry[] = []
  readonly #payloads = new Map<number, Uint8Array>()
  /** The number of a command's last entry. */
  readonly #causes = new Map<string, number>()
  readonly #keys = new Map<string, number>()
  #decided = 0
  #marks = 0
  /** Who has the workspace's lock, and who waits for it, in order. */
  #turns: Turn[] = []

  constructor({
    now = Date.now,
    after = (ms: number, work: () => void) => {
      const timer = setTimeout(work, ms)
      return { cancel: () => clearTimeout(timer) }
    },
  } = {}) {
    this.now = now
    this.#after = after
  }

  /** A daemon starts: an earlier one with the same identity is fenced from now on. */
  start(machine: string, wire: Wire = soundWire): ClusterJournal {
    const known = this.#machines.get(machine)
    const boot = (known?.boot ?? 0) + 1
    this.#machines.set(machine, { boot, isRevoked: known?.isRevoked ?? false })
    return new FakeJournal(this, { machine, boot }, wire)
  }

  revoke(machine: string): void {
    const known = this.#machines.get(machine)
    if (known) known.isRevoked = true
  }

  /** What the administrator of the database tells all machines. */
  proclaim(facts: EntryDraft['facts']): void {
    const stamp = { at: this.now(), by: 'agent-relay', cause: `admin ${++this.#marks}` }
    const draft = { ...stamp, rule: 'cluster', outcome: {}, facts, writes: [conflictKeys.machines] }
    const entry = { ...this.#entryOf('one', draft, 0), mark: `${administratorMark}${this.#marks}` }
    this.#store({ entries: [entry], payloads: [] })
    for (const listener of this.#listeners.keys()) listener(this.#entries.length)
  }

  get entries(): readonly SharedEntry[] {
    return this.#entries
  }

  get commits(): number {
    return this.#commits.length
  }

  /** The server dies and comes back: what waited for the lock is gone, what was committed is not. */
  crash(): void {
    for (const turn of this.#turns.splice(0)) turn.fail(new ClusterUnreachable('the server went', false))
  }

  /** A standby takes over that lacks the last commits. */
  failOver(lostCommits: number): void {
    this.crash()
    const kept = this.#commits.slice(0, Math.max(0, this.#commits.length - lostCommits))
    for (const map of [this.#payloads, this.#causes, this.#keys]) map.clear()
    this.#commits = []
    this.#entries = []
    this.#decided = 0
    for (const commit of kept) this.#store(commit)
  }

  // The lock

  /** Waits for the workspace's lock. Whoever holds it longer than a second has lost it. */
  lock(): Promise<object> {
    return new Promise((resolve, reject) => {
      const lock = {}
      const begin = () => {
        const late = this.#after(1_000, () => this.unlock(lock))
        Object.assign(lock, { late })
        resolve(lock)
      }
      this.#turns.push({ lock, begin, fail: reject })
      if (this.#turns.length === 1) begin()
    })
  }

  holds(lock: object): boolean {
    return this.#turns[0]?.lock === lock
  }

  unlock(lock: object): void {
    ;(lock as { late?: { cancel(): void } }).late?.cancel()
    if (!this.holds(lock)) return
    this.#turns.shift()
    this.#turns[0]?.begin()
  }

  // What one holder of the lock does

  append(by: { machine: string; boot: number }, { position: known, reads, drafts }: Append): AppendResult {
    const stopped = this.#stoppedAt(by, known)
    if (stopped) return stopped
    const missed = this.#page(known.seq, pageEntriesMax)
    const isFar = this.#entries.length - known.seq > pageEntriesMax
    const isStored = (draft: EntryDraft) => (this.#causes.get(causeOf(draft)) ?? 0) > known.seq
    if (isFar || this.#isChanged(known.seq, reads) || drafts.some(isStored)) return { kind: 'behind', missed }
    if (drafts.length === 0) return { kind: 'ok', numbered: [], missed }
    const entries = drafts.map((draft, i) => this.#entryOf(by.machine, draft, i))
    this.#store({ entries, payloads: drafts.map(({ payload }) => payload) })
    for (const [listener, whose] of this.#listeners) if (whose !== by) listener(this.#entries.length)
    return { kind: 'ok', numbered: entries.map(({ seq, at, mark }) => ({ seq, at, mark })), missed }
  }

  follow(by: { machine: string; boot: number }, known: JournalPosition, limit: number): FollowResult {
    const stopped = this.#stoppedAt(by, known)
    if (stopped) return stopped
    const entries = this.#page(known.seq, Math.min(limit, pageEntriesMax))
    return { kind: 'entries', entries, isMore: this.#entries.length > known.seq + entries.length }
  }

  payload(seq: number): Uint8Array | undefined {
    return this.#payloads.get(seq)
  }

  listen(by: object, listener: (head: number) => void): () => void {
    this.#listeners.set(listener, by)
    return () => this.#listeners.delete(listener)
  }

  #stoppedAt(
    { machine, boot }: { machine: string; boot: number },
    { seq, mark }: JournalPosition,
  ): StopReason | undefined {
    const known = this.#machines.get(machine)
    if (!known || known.isRevoked) return { kind: 'revoked' }
    if (known.boot !== boot) return { kind: 'fenced' }
    const isSame = seq === 0 || this.#entries[seq - 1]?.mark === mark
    return isSame ? undefined : { kind: 'diverged', head: this.#entries.length }
  }

  #isChanged(since: number, reads: Append['reads']): boolean {
    return reads === 'all' ? this.#decided > since : reads.some((key) => (this.#keys.get(key) ?? 0) > since)
  }

  #entryOf(machine: string, { payload: _, ...draft }: SharedDraft, i: number): SharedEntry {
    const at = Math.max(this.#entries.at(-1)?.at ?? 0, Math.min(draft.at, this.now() + entryAheadMsMax))
    return { ...draft, at, seq: this.#entries.length + 1 + i, machine, mark: `k${++this.#marks}` }
  }

  #store(commit: Commit): void {
    const { entries, payloads } = commit
    const head = this.#entries.length + entries.length
    for (const [i, entry] of entries.entries()) {
      const last = this.#entries.at(-1)
      if (last && entry.at < last.at) entry.at = last.at
      this.#entries.push(frozen(entry))
      this.#causes.set(causeOf(entry), entry.seq)
      const payload = payloads[i]
      if (payload) this.#payloads.set(entry.seq, payload)
      const { writes = [] } = entry
      if (writes === 'note') continue
      this.#decided = head
      for (const key of writes) this.#keys.set(key, head)
    }
    this.#commits.push(commit)
  }

  #page(since: number, limit: number): SharedEntry[] {
    return this.#entries.slice(since, since + limit)
  }
}

function causeOf({ by, cause }: { by: string; cause: string }): string {
  return JSON.stringify([by, cause])
}

/** All machines are given the same entries, and none may change them. */
function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part)
  return Object.freeze(value)
}

/** What arrives: nothing but what JSON can say passes between machines, and the bytes that belong to a draft. */
function copyOf(append: Append): Append {
  const copy: Append = JSON.parse(JSON.stringify({ ...append, drafts: append.drafts.map(withoutPayload) }))
  for (const [i, { payload }] of append.drafts.entries())
    if (payload) (copy.drafts[i] as SharedDraft).payload = payload.slice()
  return copy
}

function withoutPayload({ payload: _, ...draft }: SharedDraft): SharedDraft {
  return draft
}

class FakeJournal implements ClusterJournal {
  readonly #cluster: FakeCluster
  readonly #by: { machine: string; boot: number }
  readonly #wire: Wire

  constructor(cluster: FakeCluster, by: { machine: string; boot: number }, wire: Wire) {
    this.#cluster = cluster
    this.#by = by
    this.#wire = wire
  }

  async append(append: Append): Promise<AppendResult> {
    const asked = copyOf(append)
    await this.#wire.there()
    const lock = await this.#cluster.lock()
    const answer = this.#cluster.append(this.#by, asked)
    this.#cluster.unlock(lock)
    await this.#wire.back()
    return answer
  }

  async appendInTurn(known: JournalPosition, decide: (missed: SharedEntry[]) => Append): Promise<AppendResult> {
    await this.#wire.there()
    const lock = await this.#cluster.lock()
    const followed = this.#cluster.follow(this.#by, known, pageEntriesMax)
    await this.#wire.back()
    if (followed.kind !== 'entries') {
      this.#cluster.unlock(lock)
      return followed
    }
    const asked = copyOf(decide(followed.entries))
    await this.#wire.there()
    if (!this.#cluster.holds(lock)) throw new ClusterUnreachable('the lock was held too long', false)
    const answer = this.#cluster.append(this.#by, asked)
    this.#cluster.unlock(lock)
    await this.#wire.back()
    return answer
  }

  async follow(known: JournalPosition, limit: number): Promise<FollowResult> {
    await this.#wire.there()
    const answer = this.#cluster.follow(this.#by, known, limit)
    await this.#wire.back()
    return answer
  }

  async payload(seq: number): Promise<Uint8Array | undefined> {
    await this.#wire.there()
    const payload = this.#cluster.payload(seq)
    await this.#wire.back()
    return payload
  }

  onHint(listener: (head: number) => void): { stop(): void } {
    return { stop: this.#cluster.listen(this.#by, (head) => this.#wire.hint(() => listener(head))) }
  }
}
