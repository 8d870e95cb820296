// One workspace's database as a whole: opens it, runs the transaction that every change goes through, writes entries with the rows that their facts make, and
// rebuilds the rows from the journal.

import type { Entry } from '@agent-relay/sdk/protocol'
import type { EntryDraft, EntryOrigin, JournalEntry, RecordedAnswer } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { CommitTimes } from './commit-times.ts'
import { databaseSizes } from './contents.ts'
import { changedFileRefusal } from './damage.ts'
import { Database, isSqliteError, isSqliteFailure, pagesOf, type Statement } from './database.ts'
import { FactApplier } from './fact-applier.ts'
import { FinishedRows } from './finished.ts'
import { FreePages } from './free-pages.ts'
import { History } from './history.ts'
import { isFileWhole } from './integrity.ts'
import { type ReadJournal, SqliteJournal } from './journal.ts'
import { type JournalEnd, JournalEndFile } from './journal-end.ts'
import { type LocalEntry, LocalJournal } from './local-journal.ts'
import { prepareDatabase, replaceRows, writerTimeoutMs } from './migrating.ts'
import { NeedRows } from './need-rows.ts'
import { OutboxRows } from './outbox-rows.ts'
import { Pruning } from './pruning.ts'
import { Queries } from './queries.ts'
import { ReplacedFilesCheck } from './replaced-files-check.ts'
import { copyWhileWritten } from './snapshot.ts'
import { SpendRows } from './spend-rows.ts'
import { TablesMirror } from './tables.ts'
import { SqliteView } from './view.ts'
import { VisibleEntries } from './visible.ts'

const rebuildChunk = 1_000
const undone = new Error('undone on purpose')

export class Store {
  readonly view: SqliteView
  /** The journal for reading. Only methods of this class write entries. */
  readonly journal: ReadJournal
  readonly queries: Queries
  readonly history: History
  readonly visible: VisibleEntries
  readonly needs: NeedRows
  readonly outbox: OutboxRows
  readonly spend: SpendRows
  /** Finds what is old and finished, which `pruning` then deletes. */
  readonly finished: FinishedRows
  readonly pruning: Pruning
  readonly freePages: FreePages
  readonly commitTimes = new CommitTimes()
  /** The name of this machine. Unset unless the workspace is shared between machines. */
  readonly machine: string | undefined
  readonly #database: Database
  readonly #tables: TablesMirror
  readonly #journal: SqliteJournal
  readonly #factApplier: FactApplier
  readonly #local: LocalJournal | undefined
  readonly #meta: Statement
  readonly #files: ReplacedFilesCheck
  readonly #end: JournalEndFile
  #copying: Promise<void> = Promise.resolve()

  /**
   * `place`: the path of the database, or an open database. `beside`: other files that must stay in place, such as the daemon's lock: if one is replaced, this
   * process stops writing. `machine`: the name of this machine, if the workspace is shared between machines.
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
    this.#factApplier = new FactApplier(this.#database, this.#tables, machine)
    if (machine !== undefined) this.#local = new LocalJournal(this.#database)
    this.#meta = this.#database.prepare('SELECT value FROM meta WHERE name = ?')
    this.#files = new ReplacedFilesCheck(
      [path, `${path}-wal`, ...beside],
      (file) => beside.includes(file) || isFileWhole(file),
    )
    this.#end = new JournalEndFile(this.#database)
    if (!this.#end.isBegun) this.#end.write(this.#nextEnd())
  }

  /** The local journal of a shared workspace: entries that only this machine has. For reading only; `appendLocal` writes it. */
  get local(): Omit<LocalJournal, 'write' | 'keep' | 'rewind' | 'empty'> | undefined {
    return this.#local
  }

  /** Returns the recorded answer to a command from the shared or the local journal. */
  recordedAnswer(by: string, cause: string): RecordedAnswer | undefined {
    return this.#journal.recordedAnswer(by, cause) ?? this.#local?.recordedAnswer(by, cause)
  }

  get database(): Database {
    return this.#database
  }

  /**
   * Runs `work` in a transaction. A rollback undoes changes of the mirrors in memory too. The files are checked before the commit, which may copy the
   * write-ahead log into the database, and after it, before anybody is told that something was stored. The end file is written last.
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

  /**
   * Runs `work` in a transaction that is always rolled back, and returns its result. A command can be decided this way on top of others that are not stored
   * yet.
   */
  runAndRollBack<T>(work: () => T extends Promise<unknown> ? never : T): T {
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
    // If only the write-ahead log was removed, this process still has it open. A checkpoint copies it into the database, so that nothing acknowledged is lost.
    if (path === log && !isCut) this.#database.exec('PRAGMA wal_checkpoint(FULL)')
    throw changedFileRefusal(this.#database.path, reason)
  }

  /** Gives an entry its number and writes it, inside `transact`. Undefined if its command has an entry already. */
  append({ at, by, cause, facts, rule, digest, outcome, body, payload }: EntryDraft): JournalEntry | undefined {
    // Every field is named: copying the draft with `...` would take a twentieth of the time of a send.
    const entry = { seq: this.#journal.lastSeq + 1, at, by, cause, facts, rule, digest, outcome, body, payload }
    return this.apply([entry]) ? entry : undefined
  }

  /**
   * Writes entries, and the rows that their facts make, inside `transact`. Stops at the first entry whose command has an entry already, and returns false.
   * Entries of the local journal are written by `appendLocal` instead.
   */
  apply(entries: readonly (JournalEntry & Partial<EntryOrigin>)[]): boolean {
    for (const entry of entries) {
      if (!this.#journal.write(entry)) return false
      this.#factApplier.apply(entry)
    }
    return true
  }

  /** Writes an entry as `append` does, but into the local journal, which only this machine has. */
  appendLocal(draft: EntryDraft): LocalEntry | undefined {
    const entry = this.#local?.write(draft, this.#journal.lastSeq)
    if (entry) this.#factApplier.applyLocal(entry)
    return entry
  }

  /**
   * Marks the entries up to `through` as copied into the cluster, in which the workspace is shared from now on. `mark` is the prefix of the marks that the
   * cluster gave them.
   */
  markAsShared(machine: string, mark: string, through: number): void {
    this.transact(() => this.#journal.setOrigins(machine, mark, through))
  }

  /** Ends the sharing of a workspace: appends the entries of the local journal to the workspace's own. The rows that their facts make exist already. */
  endSharing(): void {
    this.#end.clear()
    this.transact(() => {
      const local = this.#local ?? new LocalJournal(this.#database)
      for (const { seq: _, afterSeq: __, ...draft } of local.entriesAfter(0)) {
        const entry = { ...draft, seq: this.#journal.lastSeq + 1 }
        // If an entry of the shared journal has the same command id, the appended entry gets another id.
        if (!this.#journal.write(entry)) this.#journal.write({ ...entry, cause: `${entry.cause} ${entry.seq}` })
      }
      local.clear()
      this.#journal.removeOrigins()
    })
  }

  /**
   * Copies the entries of this machine's local journal from another copy of the workspace. Both copies have the same shared entries up to `common`; local
   * entries that follow a later one are put at the end.
   */
  copyLocalEntries(entries: Iterable<LocalEntry>, common: number): void {
    const { lastSeq } = this.#journal
    this.transact(() => {
      for (const entry of entries) this.#local?.copyEntry(entry, entry.afterSeq <= common ? entry.afterSeq : lastSeq)
    })
    this.rebuild()
  }

  /** Replaces all rows by those of another database of the same version, in one transaction. Afterwards this store can only be closed. */
  replaceWith(path: string): void {
    this.#end.clear()
    replaceRows(this.#database, path)
  }

  /** Whether the workspace is shared between machines, or was when this database was copied. */
  get isShared(): boolean {
    return (
      this.#database.prepare('SELECT 1 FROM origins UNION ALL SELECT 1 FROM local_journal LIMIT 1').get() !== undefined
    )
  }

  /**
   * Deletes all tokens. Call it inside `transact`, after the entries that revoke tokens: a database from elsewhere may have tokens of agents that no entry
   * names.
   */
  forgetTokens(): void {
    this.#factApplier.forgetTokens()
  }

  /** Stores the payload of another machine's entry, which this machine has fetched. */
  keepPayload(seq: number, payload: Uint8Array): void {
    this.transact(() => this.#journal.keepPayload(seq, payload))
  }

  /** Empties every derived table, and replays the journal to fill it again. */
  rebuild(): void {
    this.#tables.isReplaying = true
    try {
      this.transact(() => {
        this.#factApplier.forgetAll()
        const locals = this.#local?.entriesAfter(0)
        let local = locals?.next().value
        const read = (last?: Entry) => this.#journal.entriesForReplay(last?.seq ?? 0, rebuildChunk)
        for (const entries of pagesOf(rebuildChunk, read))
          for (const entry of entries) {
            this.#factApplier.apply(entry)
            for (; local?.afterSeq === entry.seq; local = locals?.next().value) this.#factApplier.applyLocal(local)
          }
      })
    } catch (error) {
      // The mirrors in memory have no undo list for a rebuild, so they are loaded again from the database.
      this.#tables.reload()
      throw error
    } finally {
      this.#tables.isReplaying = false
    }
  }

  /**
   * Returns a value of the table `meta`: the workspace's id, the hash of its key, or, for `noted`, the number in the local journal up to which this machine has
   * reported its deliveries to the other machines.
   */
  meta(name: 'id' | 'key' | 'noted'): string | undefined {
    return this.#meta.get(name)?.[0] as string | undefined
  }

  /** Returns the sizes of the database and its write-ahead log, in bytes. */
  sizes(): { database: number; log: number } {
    return databaseSizes(this.#database.path)
  }

  isSound(): boolean {
    return this.#database.prepare('PRAGMA integrity_check').get()?.[0] === 'ok'
  }

  /**
   * Gives unused pages back until `isEnough`, inside `transact`. Returns whether unused pages are left. The file gets shorter at the next checkpoint, which
   * copies the write-ahead log into it.
   */
  releasePages(isEnough: () => boolean): boolean {
    const isMore = this.freePages.release(isEnough)
    this.#files.mayShrinkTo(this.#database.path, this.freePages.fileBytes)
    return isMore
  }

  /**
   * Runs a checkpoint, which copies the write-ahead log into the database, and cuts both files to the length that they need. If a reader, such as a backup,
   * prevents that, a later call does it.
   */
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

  /** Copies the present state of the database into a new file, while commands continue. */
  copyTo(path: string): Promise<void> {
    const copy = this.#copying.then(() => copyWhileWritten(this.#database, path))
    this.#copying = copy.catch(() => {})
    return copy
  }

  /** Closes the store, which copies the write-ahead log into the database. If a file was cut, its database stays open until the process ends. */
  close(): void {
    this.#end.close()
    if (!this.#files.findChanged()?.isCut) this.#database.close()
  }
}

/**
 * Whether the error means that an entry cannot be applied to the tables because its facts contradict them, which is the same in every copy of the workspace.
 */
export function isContradiction(error: unknown): boolean {
  return isSqliteError(error, 'constraint') || !(error instanceof RefusalError || isSqliteFailure(error))
}

/** Whether the error means that the state of the disk is unknown, or not what was written. Nothing may be acknowledged after it. */
export function isFatalStoreError(error: unknown): boolean {
  return isSqliteError(error, 'ioError') || (error instanceof RefusalError && error.refusal.code === 'store.replaced')
}
