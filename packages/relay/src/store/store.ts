// One workspace's database as a whole: opening it, the transaction that every change goes through, the one way in which rows are written, and their
// rebuilding from the journal.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { EntryDraft, EntryOrigin, JournalEntry, RecordedAnswer } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { CommitTimes } from './commit-times.ts'
import { databaseSizes } from './contents.ts'
import { changedFileRefusal } from './damage.ts'
import { Database, isSqliteError, isSqliteFailure, pagesOf, type Statement } from './database.ts'
import { Evolve } from './evolve.ts'
import { FinishedRows } from './finished.ts'
import { FreePages } from './free-pages.ts'
import { History } from './history.ts'
import { type ReadJournal, SqliteJournal } from './journal.ts'
import { EndFile, type JournalEnd } from './journal-end.ts'
import { type LocalEntry, LocalJournal } from './local-journal.ts'
import { prepareDatabase, replaceRows, writerTimeoutMs } from './migrating.ts'
import { NeedRows } from './need-rows.ts'
import { OpenedFiles } from './opened-files.ts'
import { OutboxRows } from './outbox-rows.ts'
import { Pruning } from './pruning.ts'
import { Queries } from './queries.ts'
import { copyWhileWritten } from './snapshot.ts'
import { isFileWhole } from './soundness.ts'
import { SpendRows } from './spend-rows.ts'
import { TablesMirror } from './tables.ts'
import { SqliteView } from './view.ts'
import { VisibleEntries } from './visible.ts'

const rebuildChunk = 1_000
const undone = new Error('undone on purpose')

export class Store {
  readonly view: SqliteView
  /** The journal for reading; only `append` and `apply` write entries. */
  readonly journal: ReadJournal
  readonly queries: Queries
  readonly history: History
  readonly visible: VisibleEntries
  readonly needs: NeedRows
  readonly outbox: OutboxRows
  readonly spend: SpendRows
  /** Finds what is old and over; `pruning` deletes it. */
  readonly finished: FinishedRows
  readonly pruning: Pruning
  readonly freePages: FreePages
  readonly commitTimes = new CommitTimes()
  /** The name of this machine. Unset if the workspace is not shared with other machines. */
  readonly machine: string | undefined
  readonly #database: Database
  readonly #tables: TablesMirror
  readonly #journal: SqliteJournal
  readonly #evolve: Evolve
  readonly #local: LocalJournal | undefined
  readonly #meta: Statement
  readonly #files: OpenedFiles
  readonly #end: EndFile
  #copying: Promise<void> = Promise.resolve()

  /**
   * `place`: the path of the database, or a database that is open already. `beside`: other files without which this process must stop writing, such
   * as its lock. `machine`: the name of this machine, if the workspace is shared with others.
   */
  constructor(place: string | Database, beside: readonly string[] = [], machine?: string) {
    this.#database = typeof place === 'string' ? new Database(place) : place
    this.machine = machine
    const { path } = this.#database
    const { tables, journal } = prepareDatabase(this.#database, (database) => ({
      tables: new TablesMirror(database),
      journal: new SqliteJournal(database),
    }))
    this.#tables = tables
    this.#journal = journal
    this.journal = journal
    this.view = new SqliteView(this.#database, this.#tables)
    this.queries = new Queries(this.#database, this.#tables, this.view)
    this.history = new History(this.#database, this.#tables, this.view, this.queries)
    this.visible = new VisibleEntries(this.#database, this.#tables)
    this.needs = new NeedRows(this.#database, this.#tables, this.view)
    this.spend = new SpendRows(this.#database)
    this.outbox = new OutboxRows(this.#database)
    this.finished = new FinishedRows(this.#database, this.#tables, this.view)
    this.pruning = new Pruning(this.#database, this.queries)
    this.freePages = new FreePages(this.#database)
    this.#evolve = new Evolve(this.#database, this.#tables, machine)
    if (machine !== undefined) this.#local = new LocalJournal(this.#database)
    this.#meta = this.#database.prepare('SELECT value FROM meta WHERE name = ?')
    this.#files = new OpenedFiles(
      [path, `${path}-wal`, ...beside],
      (file) => beside.includes(file) || isFileWhole(file),
    )
    this.#end = new EndFile(this.#database)
    if (!this.#end.isBegun) this.#end.write(this.#nextEnd())
  }

  /** The journal of this machine alone, in a workspace that it shares with others. For reading only; `appendLocal` writes it. */
  get local(): Omit<LocalJournal, 'write' | 'keep' | 'rewind' | 'empty'> | undefined {
    return this.#local
  }

  /** Returns the recorded answer to a command, whether the shared journal has it or this machine's own. */
  recordedAnswer(by: string, cause: string): RecordedAnswer | undefined {
    return this.#journal.recordedAnswer(by, cause) ?? this.#local?.recordedAnswer(by, cause)
  }

  get database(): Database {
    return this.#database
  }

  /**
   * Runs `work` in a transaction; a rollback also undoes changes of the mirrors in memory. The files are checked before, since a commit may copy the log
   * into the database, and after it, before anybody is told that something was stored. The end file is written last.
   */
  transact<T>(work: () => T extends Promise<unknown> ? never : T): T {
    const from = performance.now()
    this.#mustBeSame()
    const [lastSeq, lastLocal] = [this.#journal.lastSeq, this.#local?.lastSeq ?? 0]
    let result: T
    let end: JournalEnd | undefined
    this.#tables.begin()
    try {
      result = this.#database.transact(() => {
        const done = work()
        end = this.#nextEnd()
        return done
      })
    } catch (error) {
      this.#tables.undoChanges()
      this.#journal.rewind(lastSeq)
      this.#local?.rewind(lastLocal)
      throw error
    }
    this.#tables.keepChanges()
    this.#mustBeSame()
    this.#end.write(end)
    this.commitTimes.addCommit(performance.now() - from)
    return result
  }

  #nextEnd(): JournalEnd | undefined {
    return this.#end.nextRecord(this.#journal.lastSeq, this.#local?.lastSeq ?? 0)
  }

  /** Does the work, returns its result, and undoes every change that the work made: for commands that see each other's changes before any is stored. */
  tentatively<T>(work: () => T extends Promise<unknown> ? never : T): T {
    let result: { value: T } | undefined
    try {
      this.transact(() => {
        result = { value: work() }
        throw undone
      })
    } catch (error) {
      if (error !== undone || !result) throw error
    }
    return (result as { value: T }).value
  }

  #mustBeSame(): void {
    const change = this.#files.findChanged()
    if (change === undefined) return
    const { path, reason, isCut } = change
    const log = `${this.#database.path}-wal`
    // A log that was removed is still whole for the process that has it open, and the database is in its place: copying the log saves what was acknowledged.
    if (path === log && !isCut) this.#database.exec('PRAGMA wal_checkpoint(FULL)')
    throw changedFileRefusal(this.#database.path, reason)
  }

  /** Gives an entry its number and writes it, inside `transact`. Undefined if the entry's command has an entry already. */
  append({ at, by, cause, facts, rule, digest, outcome, body, payload }: EntryDraft): JournalEntry | undefined {
    // Every field is named, since spreading the draft would take a twentieth of the time of a send.
    const entry = { seq: this.#journal.lastSeq + 1, at, by, cause, facts, rule, digest, outcome, body, payload }
    return this.apply([entry]) ? entry : undefined
  }

  /**
   * Writes entries and the rows that their facts make, inside `transact`; nothing else writes rows. Returns false at the first entry whose command has
   * another
   * entry already, and writes nothing of that first one.
   */
  apply(entries: readonly (JournalEntry & Partial<EntryOrigin>)[]): boolean {
    for (const entry of entries) {
      if (!this.#journal.write(entry)) return false
      this.#evolve.apply(entry)
    }
    return true
  }

  /** Writes an entry as `append` does, but into the journal of this machine alone. */
  appendLocal(draft: EntryDraft): LocalEntry | undefined {
    const entry = this.#local?.write(draft, this.#journal.lastSeq)
    if (entry) this.#evolve.applyLocal(entry)
    return entry
  }

  /** Marks the entries up to `through` as copied into the cluster, which shares the workspace from now on; `mark` is the prefix of the entries' marks. */
  markAsShared(machine: string, mark: string, through: number): void {
    this.transact(() => this.#journal.setOrigins(machine, mark, through))
  }

  /** Ends the sharing of a workspace: entries of this machine alone are added after all shared ones. The rows of those entries are there already. */
  endSharing(): void {
    this.#end.clear()
    this.transact(() => {
      const local = this.#local ?? new LocalJournal(this.#database)
      for (const { seq: _, afterSeq: __, ...draft } of local.entriesAfter(0)) {
        const entry = { ...draft, seq: this.#journal.lastSeq + 1 }
        // Both journals may have the command's id: then the added entry gets another.
        if (!this.#journal.write(entry)) this.#journal.write({ ...entry, cause: `${entry.cause} ${entry.seq}` })
      }
      local.clear()
      this.#journal.removeOrigins()
    })
  }

  /** Takes over this machine's own entries from another copy of the workspace, which had the same shared entries up to `common`. */
  copyLocalEntries(entries: Iterable<LocalEntry>, common: number): void {
    const { lastSeq } = this.#journal
    this.transact(() => {
      for (const entry of entries) this.#local?.copyEntry(entry, entry.afterSeq <= common ? entry.afterSeq : lastSeq)
    })
    this.rebuild()
  }

  /** Replaces all rows by those of another file of the same schema, in one transaction. After that this store can only be closed. */
  replaceWith(path: string): void {
    this.#end.clear()
    replaceRows(this.#database, path)
  }

  /** Whether several machines share the workspace, or did when this file was copied. */
  get isShared(): boolean {
    return (
      this.#database.prepare('SELECT 1 FROM origins UNION ALL SELECT 1 FROM local_journal LIMIT 1').get() !== undefined
    )
  }

  /**
   * Deletes all tokens, inside `transact`, after the entries that tell of them: in a file from elsewhere a token may belong to an agent that is not
   * registered yet.
   */
  forgetTokens(): void {
    this.#evolve.forgetTokens()
  }

  /** Stores the payload of another machine's entry, once somebody has asked for the payload. */
  keepPayload(seq: number, payload: Uint8Array): void {
    this.transact(() => this.#journal.keepPayload(seq, payload))
  }

  /** Empties every table that is made from the journal, and makes its rows again. */
  rebuild(): void {
    this.#tables.isReplaying = true
    try {
      this.transact(() => {
        this.#evolve.forgetAll()
        const locals = this.#local?.entriesAfter(0)
        let local = locals?.next().value
        const read = (last?: Entry) => this.#journal.entriesForReplay(last?.seq ?? 0, rebuildChunk)
        for (const entries of pagesOf(rebuildChunk, read))
          for (const entry of entries) {
            this.#evolve.apply(entry)
            for (; local?.afterSeq === entry.seq; local = locals?.next().value) this.#evolve.applyLocal(local)
          }
      })
    } catch (error) {
      // The mirrors in memory were emptied, which cannot be undone one change at a time, so they are loaded again.
      this.#tables.reload()
      throw error
    } finally {
      this.#tables.isReplaying = false
    }
  }

  /** Returns the workspace's id, the hash of its key, or (`noted`) the number in the local journal up to which this machine has told the other machines. */
  meta(name: 'id' | 'key' | 'noted'): string | undefined {
    return this.#meta.get(name)?.[0] as string | undefined
  }

  /** Returns the sizes on the disk, in bytes. */
  sizes(): { database: number; log: number } {
    return databaseSizes(this.#database.path)
  }

  isSound(): boolean {
    return this.#database.prepare('PRAGMA integrity_check').get()?.[0] === 'ok'
  }

  /**
   * Gives unused pages back, inside `transact`, until `isEnough`. The file gets shorter when the log is copied into it. Returns whether unused pages are
   * left.
   */
  releasePages(isEnough: () => boolean): boolean {
    const isMore = this.freePages.release(isEnough)
    this.#files.mayShrinkTo(this.#database.path, this.freePages.fileBytes)
    return isMore
  }

  /** Copies the log into the database and cuts both files to what they need. While somebody reads, such as a backup, that is left to a later time. */
  cutFiles(): void {
    const { path } = this.#database
    this.#mustBeSame()
    this.#files.mayShrinkTo(path, this.freePages.fileBytes)
    this.#files.mayShrinkTo(`${path}-wal`, 0)
    this.#database.exec('PRAGMA busy_timeout = 0')
    const [isBusy] = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? []
    this.#database.exec(`PRAGMA busy_timeout = ${writerTimeoutMs}`)
    this.#mustBeSame()
    if (isBusy === 0) this.#files.endShrinking()
  }

  /** Copies the database as of now into a new file; commands go on meanwhile. */
  copyTo(path: string): Promise<void> {
    const copy = this.#copying.then(() => copyWhileWritten(this.#database, path))
    this.#copying = copy.catch(() => {})
    return copy
  }

  /** Closes the store, which copies the log into the database. If a file was cut, closing the database is left to the end of the process. */
  close(): void {
    this.#end.close()
    if (!this.#files.findChanged()?.isCut) this.#database.close()
  }
}

/** Whether an entry itself cannot be applied, because its facts contradict the tables. Every other copy of the workspace finds the same. */
export function isContradiction(error: unknown): boolean {
  return isSqliteError(error, 'constraint') || !(error instanceof RefusalError || isSqliteFailure(error))
}

/** Whether a failure leaves it unknown what the disk holds, or shows that it is not what was written: nothing may be acknowledged afterwards. */
export function isFatalStoreError(error: unknown): boolean {
  return isSqliteError(error, 'ioError') || (error instanceof RefusalError && error.refusal.code === 'store.replaced')
}
