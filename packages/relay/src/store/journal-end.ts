// The end file: a small file beside a workspace's database with the number of the entry that was stored last. With it a start detects a database or write-ahead
// log that was cut, removed or replaced by an older one, which daemon/known-workspaces.ts refuses. The end file is written after each commit, before the
// commands are answered, and is not synced: a killed process loses nothing of it. After a power cut it may be older or missing, which raises no alarm.

import { createHash } from 'node:crypto'
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'
import { type Database, type Row, readDatabaseFile, type Statement } from './database.ts'

/** The last entry of a journal. An empty journal has number 0. */
export interface LastEntry {
  seq: number
  at: number
  /** A digest of the entry, which differs from that of another entry with the same number. It covers only fields that pruning never changes. */
  check: string
}

export interface JournalEnd {
  /** The id of the workspace. */
  workspace: string
  journal: LastEntry
  /** The last entry of the local journal, which only this machine has; empty unless the workspace is shared between machines. */
  local: LastEntry
}

export function journalEndPath(databasePath: string): string {
  return `${databasePath}.end`
}

/**
 * The end file has two records, each in a disk sector of its own, that are written in turn. If a power cut leaves one of them half written, the other is whole.
 */
const slotBytes = 512
const slots = [0, 1] as const
/** The format version of a record in the end file. A record with another version is ignored. */
const format = 1
const emptyJournal: LastEntry = { seq: 0, at: 0, check: '' }
const columns = 'seq, at, by, cause, rule'

/** Writes the end file of an open database. */
export class JournalEndFile {
  #file: number | undefined
  readonly #id: Statement
  readonly #last: Record<'journal' | 'local', Statement>
  #workspace: string | undefined
  /** A counter of the records written: its parity gives the place of the next one, and the record with the higher number is the newer one. */
  #turn: number
  #written: JournalEnd | undefined

  constructor(database: Database) {
    this.#id = database.prepare("SELECT value FROM meta WHERE name = 'id'")
    this.#last = database.prepareAll({
      journal: `SELECT ${columns} FROM journal ORDER BY seq DESC LIMIT 1`,
      local: `SELECT ${columns} FROM local_journal ORDER BY seq DESC LIMIT 1`,
    })
    const path = journalEndPath(database.path)
    const found = recordsOf(path).at(-1)
    this.#turn = found?.turn ?? 0
    this.#written = found?.end
    if (database.path !== ':memory:') this.#file = openedFile(path, found !== undefined)
  }

  get isBegun(): boolean {
    return this.#written !== undefined
  }

  /**
   * Returns the record to write: the last entries of both journals. Undefined if the end file has it already, or cannot be written. Call it inside the
   * transaction.
   */
  nextRecord(lastSeq: number, lastLocal: number): JournalEnd | undefined {
    if (this.#file === undefined) return undefined
    if (this.#written?.journal.seq === lastSeq && this.#written.local.seq === lastLocal) return undefined
    this.#workspace ??= this.#id.get()?.[0] as string | undefined
    if (this.#workspace === undefined) return undefined
    const local = lastLocal === 0 ? emptyJournal : lastOf(this.#last.local.get())
    return { workspace: this.#workspace, journal: lastOf(this.#last.journal.get()), local }
  }

  /** Writes a record to the end file. A failure does not undo the commit: an older end file raises no alarm. */
  write(end: JournalEnd | undefined): void {
    if (!end || this.#file === undefined) return
    const turn = this.#turn + 1
    const line = lineOf(turn, end)
    try {
      if (line.length <= slotBytes) writeSync(this.#file, line, (turn % slots.length) * slotBytes)
      this.#turn = turn
      this.#written = end
    } catch {
      // The disk is full or faulty: the next commit tries again.
    }
  }

  /**
   * Empties the end file before entries are removed from the journal on purpose, and syncs it: otherwise a power cut after the removal would leave an end file
   * that raises an alarm.
   */
  clear(): void {
    if (this.#file === undefined) return
    this.#written = undefined
    ftruncateSync(this.#file)
    fsyncSync(this.#file)
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}

/** Opens the end file; undefined if it cannot be created. The database is then used without one. */
function openedFile(path: string, isThere: boolean): number | undefined {
  const { O_RDWR, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  return tryOrUndefined(() => openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | (isThere ? 0 : O_TRUNC), 0o600))
}

/** Reads the end file of a database; undefined if there is none, or if all its records are damaged. */
export function readEndFile(databasePath: string): JournalEnd | undefined {
  return recordsOf(journalEndPath(databasePath)).at(-1)?.end
}

/** Returns the undamaged records of an end file, the older one first. */
function recordsOf(path: string): { turn: number; end: JournalEnd }[] {
  const text = tryOrUndefined(() => readFileSync(path, 'latin1')) ?? ''
  const records = slots.flatMap((slot) => recordOf(text.slice(slot * slotBytes, (slot + 1) * slotBytes)) ?? [])
  return records.sort((a, b) => a.turn - b.turn)
}

function recordOf(slot: string): { turn: number; end: JournalEnd } | undefined {
  const [content = '', check] = (slot.split('\n')[0] as string).split('\t')
  if (check === undefined || check !== digestOf(content)) return undefined
  const [found, turn, end] = JSON.parse(content)
  return found === format ? { turn, end } : undefined
}

function lineOf(turn: number, end: JournalEnd): string {
  const content = JSON.stringify([format, turn, end])
  return `${content}\t${digestOf(content)}\n`
}

function lastOf(row: Row | undefined): LastEntry {
  return row ? { seq: row[0] as number, at: row[1] as number, check: digestOf(JSON.stringify(row)) } : emptyJournal
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Entries that were stored and are missing at the end of a journal. */
export interface JournalGap {
  /** Whether they are missing in the local journal, which only this machine has. */
  isLocal: boolean
  /** The last entry of the journal according to the end file. */
  expected: LastEntry
  /** The last entry of the journal in the database. */
  found: LastEntry
}

/**
 * Reads the workspace's id from a database, and which entries the database lacks. The end file is read first, since a running daemon writes the database first.
 */
export function checkJournalEnd(databasePath: string): { workspace?: string; expected?: JournalEnd; gap?: JournalGap } {
  const expected = readEndFile(databasePath)
  return readDatabaseFile(databasePath, (first) => {
    const workspace = first('value', "meta WHERE name = 'id'")?.[0] as string | undefined
    // An end file of another workspace is ignored.
    const isItsOwn = workspace === undefined || workspace === expected?.workspace
    const gapIn = (table: string, isLocal: boolean, end: LastEntry = emptyJournal): JournalGap[] => {
      if (!isItsOwn || end.seq === 0 || lastOf(first(columns, `${table} WHERE seq = ${end.seq}`)).check === end.check)
        return []
      return [{ isLocal, expected: end, found: lastOf(first(columns, `${table} ORDER BY seq DESC LIMIT 1`)) }]
    }
    const [gap] = [...gapIn('journal', false, expected?.journal), ...gapIn('local_journal', true, expected?.local)]
    return { workspace, expected, gap }
  })
}
