// The end file: a small file beside a workspace's database that says which entry was stored last. It lies outside SQLite's log, so a start finds out
// when a log or database was cut, removed, or replaced by an older one. daemon/known-workspaces.ts refuses such a file.
//
// The end file is written after each commit and before its answers, and is never synced. Killing the process loses nothing of it; a power cut may
// leave an older one, or none, and neither raises an alarm.

import { createHash } from 'node:crypto'
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { attempt } from '../machine/attempt.ts'
import { type Database, type Row, readDatabaseFile, type Statement } from './database.ts'

/** The last entry of a journal. Number 0 means that the journal is empty. */
export interface LastEntry {
  seq: number
  at: number
  /** A digest that tells this entry from another one with the same number, made of fields that pruning leaves as they are. */
  check: string
}

export interface JournalEnd {
  /** The id of the workspace. */
  workspace: string
  journal: LastEntry
  /** The last entry of this machine's own journal, if several machines share the workspace. */
  local: LastEntry
}

export function endFilePath(databasePath: string): string {
  return `${databasePath}.end`
}

/** The end file has two records, written in turn, each in a sector of its own: if a power cut leaves half of one, the other is whole. */
const slotBytes = 512
const slots = [0, 1] as const
/** The format of a record in the end file; a record of another format counts for nothing. */
const format = 1
const emptyJournal: LastEntry = { seq: 0, at: 0, check: '' }
const columns = 'seq, at, by, cause, rule'

/** Writes the end file of one open database. */
export class EndFile {
  #file: number | undefined
  readonly #id: Statement
  readonly #last: Record<'journal' | 'local', Statement>
  #workspace: string | undefined
  /** The turn of the record that was written last. */
  #turn: number
  #written: JournalEnd | undefined

  constructor(database: Database) {
    this.#id = database.prepare("SELECT value FROM meta WHERE name = 'id'")
    this.#last = database.prepareAll({
      journal: `SELECT ${columns} FROM journal ORDER BY seq DESC LIMIT 1`,
      local: `SELECT ${columns} FROM local_journal ORDER BY seq DESC LIMIT 1`,
    })
    const path = endFilePath(database.path)
    const found = recordsOf(path).at(-1)
    this.#turn = found?.turn ?? 0
    this.#written = found?.end
    if (database.path !== ':memory:') this.#file = openedFile(path, found !== undefined)
  }

  get isBegun(): boolean {
    return this.#written !== undefined
  }

  /**
   * Returns the journals' last entries as the database has them. Undefined if the end file names them already, or cannot be written. Call it inside the
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

  /** Writes the journals' last entries to the end file. The commit counts whether or not this succeeds: an older end file raises no alarm. */
  write(end: JournalEnd | undefined): void {
    if (!end || this.#file === undefined) return
    const turn = this.#turn + 1
    const line = lineOf(turn, end)
    try {
      if (line.length <= slotBytes) writeSync(this.#file, line, (turn % slots.length) * slotBytes)
      this.#turn = turn
      this.#written = end
    } catch {
      // The disk is full or fails: the next commit tries again.
    }
  }

  /** Empties the end file before the journal is shortened on purpose. The file is synced, since a power cut may come after the database was changed. */
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

/** Opens the end file. Undefined if none can be made beside the database, which is then used without. */
function openedFile(path: string, isThere: boolean): number | undefined {
  const { O_RDWR, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  return attempt(() => openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | (isThere ? 0 : O_TRUNC), 0o600))
}

/** Reads the content of the end file; undefined if there is none, or no record in it is whole. */
export function readEndFile(databasePath: string): JournalEnd | undefined {
  return recordsOf(endFilePath(databasePath)).at(-1)?.end
}

/** Returns the whole records of an end file, the older one first. */
function recordsOf(path: string): { turn: number; end: JournalEnd }[] {
  const text = attempt(() => readFileSync(path, 'latin1')) ?? ''
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

/** An entry that was stored and is missing from the database. */
export interface JournalGap {
  /** Whether the entry is missing in this machine's own journal. */
  isLocal: boolean
  /** The last entry as the end file names it. */
  expected: LastEntry
  /** The last entry that the journal in the database has. */
  found: LastEntry
}

/** Reads which workspace's database lies at this path, and which entry it lacks. The end file is read first: a daemon may be writing both files. */
export function checkJournalEnd(databasePath: string): { workspace?: string; expected?: JournalEnd; gap?: JournalGap } {
  const expected = readEndFile(databasePath)
  return readDatabaseFile(databasePath, (first) => {
    const workspace = first('value', "meta WHERE name = 'id'")?.[0] as string | undefined
    // The end file of another workspace says nothing about this database.
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
