// Deletes old facts that nothing depends on any more from the journal and the tables, a slice at a time. An entry keeps its number, its command's id and the
// answer, so that a repeated command still gets its answer. Rebuilding the tables from the remaining facts gives the same rows. finished.ts and the table of
// facts in core/facts decide what may be deleted; daemon/archive.ts stores what was deleted.

import { type Entry, type Fact, type Message, timeOfId } from '@agent-relay/sdk/protocol'
import type { PruneLookups } from '../core/facts/row.ts'
import { factRowOf } from '../core/facts/table.ts'
import type { Steps } from '../core/steps.ts'
import type { Database, Row, Statement } from './database.ts'
import type { FinishedParts } from './finished.ts'
import { digestOfEntry } from './journal.ts'
import type { Queries } from './queries.ts'

/** A fact that pruning deletes, or whose body or payload it deletes. */
export interface PrunedFact {
  entry: Entry
  fact: Fact
  message?: Message
  /** The deleted body: input or output of an action's call, the whole input of an approval, or the last screen of a worker. */
  body?: string
  /** The result that an agent's run returned, compressed with gzip. */
  payload?: Uint8Array
}

export interface PruningSlice {
  /** The number of the last entry that was examined. */
  throughSeq: number
  prunedFacts: PrunedFact[]
  chars: number
  /** By the number of each changed entry, the facts that are left in it. */
  keptFacts: Map<number, Fact[]>
}

/** The row of one pruning in the table `prunes`. */
export interface PruneRecord {
  id: number
  at: number
  horizon: number
  through: number
  /**
   * Name of the archive's file; unset if the events were deleted without an archive. Only its first `bytes` count: what follows was archived, but then not
   * deleted here.
   */
  file?: string
  bytes: number
  messages: number
  events: number
}

/** Limits of a slice besides its number of facts: characters of text, and entries examined, including those that do not change. */
const [charsMax, scanned] = [128 * 1024, 1_000]
const [entriesPerStep, concernsPerStep] = [16, 200]

const statements = {
  entries: `SELECT seq, at, by, cause, facts FROM journal WHERE seq > ?1 AND seq <= ?2 AND facts <> '[]' ORDER BY seq LIMIT (?3 + 0)`,
  place: 'SELECT conversation, n FROM messages WHERE id = ?',
  claim: 'SELECT 1 FROM claims WHERE path = ? AND machine = ?',
  action: 'SELECT session FROM actions WHERE name = ?',
  call: 'SELECT ok IS NOT NULL AND at + coalesce(duration_ms, 0) <= ?2 FROM invocations WHERE id = ?1',
  // The last approval is never deleted, since the number of the next approval is one higher.
  approval: `SELECT coalesce(closed_at <= ?2, 0) AND n < (SELECT max(n) FROM approvals) FROM approvals WHERE id = ?1`,
  notice: 'SELECT 1 FROM notices WHERE asker = ? AND agent = ? AND occasion = ? AND message = ?',
  body: 'SELECT body FROM bodies WHERE seq = ?',
  payload: 'SELECT gzip FROM payloads WHERE seq = ?',
  stub: `SELECT j.at, j.by, j.cause, j.rule, j.outcome, j.digest, m.body, m.kind FROM journal j LEFT JOIN messages m ON m.seq = j.seq
    WHERE j.seq = ?`,
  entryGone: 'DELETE FROM journal WHERE seq = ?',
  entryLeft: 'INSERT INTO journal (seq, at, by, cause, rule, outcome, digest, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  messageGone: 'DELETE FROM messages WHERE seq = ?',
  receiptsGone: 'DELETE FROM receipts WHERE message = ?',
  reactionsGone: 'DELETE FROM reactions WHERE message = ?',
  bodyGone: 'DELETE FROM bodies WHERE seq = ?',
  payloadGone: 'DELETE FROM payloads WHERE seq = ?',
  callGone: 'DELETE FROM invocations WHERE id = ?',
  approvalGone: 'DELETE FROM approvals WHERE id = ?',
  concerns: `SELECT c.who, c.seq, j.facts = '[]' FROM concerns c JOIN journal j ON j.seq = c.seq WHERE (c.who, c.seq) > (?1, ?2)
    ORDER BY c.who, c.seq LIMIT (?3 + 0)`,
  concernGone: 'DELETE FROM concerns WHERE who = ? AND seq = ?',
  keep: `INSERT INTO prunes (id, at, horizon, through, file, bytes, messages, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET bytes = excluded.bytes, messages = excluded.messages, events = excluded.events`,
  prunes: 'SELECT id, at, horizon, through, file, bytes, messages, events FROM prunes ORDER BY id',
  through: 'SELECT max(through) FROM prunes',
}

export class Pruning {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #queries: Queries
  #finished: FinishedParts = { horizon: 0, throughSeq: 0, lastFinishedNumbers: new Map(), held: [] }

  constructor(database: Database, queries: Queries) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#queries = queries
  }

  /** Returns all prunings of this workspace, oldest first. */
  pruneRecords(): PruneRecord[] {
    return this.#sql.prunes.all().map(pruneOf)
  }

  /** Returns the file of the archive that has a message, if the message was pruned: the file of the first pruning whose horizon lies after the message. */
  archiveOf(message: string): string | undefined {
    const at = timeOfId(message) ?? Number.POSITIVE_INFINITY
    return this.pruneRecords().find(({ horizon }) => at <= horizon)?.file
  }

  /** The number up to which entries may have lost facts; 0 if nothing was ever pruned. */
  get through(): number {
    return Number(this.#sql.through.get()?.[0] ?? 0)
  }

  /** Returns the next slice after an entry, with about `goneMax` facts to delete. */
  *nextSlice(after: number, finished: FinishedParts, goneMax: number): Steps<PruningSlice> {
    this.#finished = finished
    const slice: PruningSlice = { throughSeq: after, prunedFacts: [], chars: 0, keptFacts: new Map() }
    const end = Math.min(finished.throughSeq, after + scanned)
    while (slice.throughSeq < end && slice.prunedFacts.length < goneMax && slice.chars < charsMax) {
      const rows = this.#sql.entries.all(slice.throughSeq, end, entriesPerStep)
      for (const row of rows) this.#split(row, slice)
      slice.throughSeq = rows.length < entriesPerStep ? end : (rows.at(-1)?.[0] as number)
      yield
    }
    return slice
  }

  #split([seq, at, by, cause, facts]: Row, slice: PruningSlice): void {
    const entry = { seq, at, by, cause, facts: JSON.parse(facts as string) } as Entry
    const left: Fact[] = []
    let found = 0
    for (const fact of entry.facts) {
      const isOver = this.#isOver(fact, entry.at)
      const gone = { entry, fact, ...this.#belongings(entry, fact, isOver) }
      if (!isOver) left.push(fact)
      if (!isOver && gone.body === undefined && gone.payload === undefined) continue
      slice.prunedFacts.push(gone)
      slice.chars += 200 + (gone.message?.body.length ?? 0) + (gone.body?.length ?? 0) + (gone.payload?.length ?? 0)
      found++
    }
    if (found > 0) slice.keptFacts.set(entry.seq, left)
  }

  /** Whether a fact may be deleted: its subject is old and finished, or its message is deleted by this pruning. */
  #isOver(fact: Fact, at: number): boolean {
    const { prunableWhen } = factRowOf(fact)
    if (prunableWhen === undefined) return false
    if (typeof prunableWhen === 'object' && 'withMessage' in prunableWhen)
      return this.#isMessagePruned(prunableWhen.withMessage(fact))
    return at <= this.#finished.horizon && (prunableWhen === 'old' || prunableWhen.oldAnd(fact, this.#lookups))
  }

  readonly #lookups: PruneLookups = {
    hasClaim: (path, machine = '') => this.#sql.claim.get(path, machine) !== undefined,
    sessionOffering: (action) => this.#sql.action.get(action)?.[0] as string | undefined,
    isCallOver: (id) => (this.#sql.call.get(id, this.#finished.horizon)?.[0] ?? 1) === 1,
    isApprovalOver: (id) => (this.#sql.approval.get(id, this.#finished.horizon)?.[0] ?? 1) === 1,
    isNoticeAwaited: ({ asker, agent, when, message = '' }) =>
      this.#sql.notice.get(asker, agent, when, message) !== undefined,
  }

  #isMessagePruned(message: string): boolean {
    const [conversation, n] = (this.#sql.place.get(message) ?? []) as number[]
    return conversation === undefined || (n as number) <= (this.#finished.lastFinishedNumbers.get(conversation) ?? 0)
  }

  /**
   * Returns the message, body or payload that is deleted together with a fact, or alone. The tasks of workers and contracts of runs are kept, since `retry`
   * gives them again.
   */
  #belongings(entry: Entry, fact: Fact, isOver: boolean): Pick<PrunedFact, 'message' | 'body' | 'payload'> {
    const { seq, at } = entry
    if (fact.type === 'message.created') return isOver ? { message: this.#queries.message(fact.id) } : {}
    if (at > this.#finished.horizon || (!isOver && this.#isTold(entry))) return {}
    if (fact.type === 'run.completed' && fact.payloadBytes !== undefined)
      return { payload: this.#sql.payload.get(seq)?.[0] as Uint8Array | undefined }
    const hasBody = isOver ? /^(?:action\.|approval\.opened$)/.test(fact.type) : fact.type === 'worker.changed'
    return hasBody ? { body: this.#sql.body.get(seq)?.[0] as string | undefined } : {}
  }

  /** Whether a message in the same entry is kept. Then the payload or screen is kept too: the message tells its reader where to find it. */
  #isTold({ facts }: Entry): boolean {
    return facts.some((fact) => fact.type === 'message.created' && !this.#isMessagePruned(fact.id))
  }

  /** Deletes a slice. Call it inside a transaction, after the slice was archived, unless it may be lost. */
  deleteSlice({ prunedFacts, keptFacts }: PruningSlice, prune: PruneRecord): void {
    const stubs = [...keptFacts.keys()].map((seq) => this.#stubOf(seq))
    // All changed entries are deleted before the first one is inserted again, so that whole pages become unused.
    for (const seq of keptFacts.keys()) this.#sql.entryGone.run(seq)
    for (const stub of stubs) this.#sql.entryLeft.run(...stub, JSON.stringify(keptFacts.get(stub[0] as number)))
    for (const { entry, fact, message, body, payload } of prunedFacts) {
      if (message) this.#messageGone(message.seq)
      if (body !== undefined) this.#sql.bodyGone.run(entry.seq)
      if (payload) this.#sql.payloadGone.run(entry.seq)
      if (fact.type === 'action.invoked') this.#sql.callGone.run(fact.id)
      if (fact.type === 'approval.opened') this.#sql.approvalGone.run(fact.id)
    }
    this.#queries.uncount(prunedFacts.flatMap(({ message }) => message?.seq ?? []))
    const { id, at, horizon, through, file = null, bytes, messages, events } = prune
    this.#sql.keep.run(id, at, horizon, through, file, bytes, messages, events)
  }

  /**
   * Returns the columns of an entry that pruning keeps, all but its facts. If the digest of its call would be made from a message that is deleted now, it is
   * made here and stored.
   */
  #stubOf(seq: number): Row {
    const [at, by, cause, rule, outcome, ...asked] = this.#sql.stub.get(seq) as Row
    const digest = digestOfEntry(JSON.parse(outcome as string), asked) ?? null
    return [seq, at, by, cause, rule, outcome, digest] as Row
  }

  #messageGone(seq: number): void {
    this.#sql.receiptsGone.run(seq)
    this.#sql.reactionsGone.run(seq)
    this.#sql.messageGone.run(seq)
  }

  /**
   * Deletes rows of the table `concerns` whose entries have no facts left; call it inside a transaction. Returns where to continue, or undefined at the end.
   */
  forgetConcerns([who, seq]: readonly [number, number]): [number, number] | undefined {
    const rows = this.#sql.concerns.all(who, seq, concernsPerStep) as [number, number, number][]
    for (const [whose, of, isEmpty] of rows) if (isEmpty === 1) this.#sql.concernGone.run(whose, of)
    const last = rows.at(-1)
    return last && rows.length === concernsPerStep ? [last[0], last[1]] : undefined
  }
}

function pruneOf([id, at, horizon, through, file, bytes, messages, events]: Row): PruneRecord {
  const prune = { id, at, horizon, through, bytes, messages, events }
  return (isArchiveFile(file) ? { ...prune, file } : prune) as PruneRecord
}

/** Whether a text is a name that the archive gives its files. A restored database may come from anybody, and a name in it could lead to another file. */
export function isArchiveFile(name: unknown): name is string {
  return typeof name === 'string' && /^\w[\w+.-]{0,60}\.jsonl\.gz$/.test(name)
}
