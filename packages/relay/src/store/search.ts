// Full-text search. Its index is a database of its own, which can be deleted and filled again, and is filled later than a message is stored: indexing in the
// same transaction would cost 6 to 12 times the message itself. The index has parts of a fixed number of entries. A query searches one part at a time, and the
// newest part can be searched while older ones are still empty.

import { existsSync, rmSync } from 'node:fs'
import { isDamageError } from './damage.ts'
import { Database, type Statement } from './database.ts'
import { FreePages, makeShrinkable } from './free-pages.ts'
import { PartWords } from './search-parts.ts'
import { conversationMark, senderMark } from './search-query.ts'

/** Number of entries in one part of the search index. The most expensive query of a part (words that begin with one letter) takes 3 ms. */
const partEntriesDefault = 8_192
/** Maximum number of messages and bytes that are indexed at once, which takes about 3 ms. */
const [sliceRows, sliceBytes] = [32, 64 * 1024]
/** Number of the index's pages that are merged after each slice of messages. Without this, SQLite would merge all of them at once after a while. */
const mergePages = 16
/** The version of the index's schema. An index of another version is deleted and filled again. */
const shape = 2

const progress = 'SELECT part, seq FROM progress'

/** Marks an index as outdated, after the messages of its workspace were replaced. The next process that opens it fills it again. */
export function markIndexOutdated(path: string): void {
  if (!existsSync(path)) return
  const index = new Database(path)
  try {
    index.exec(`UPDATE progress SET seq = ${Number.MAX_SAFE_INTEGER}`)
  } finally {
    index.close()
  }
}

interface Part {
  add: Statement
  merge: Statement
  find: Statement
}

export class SearchIndex {
  readonly #path: string
  readonly #next: Statement
  readonly #body: Statement
  readonly #lastSeq: () => number
  readonly #partEntries: number
  #index: Database
  #parts = new Map<number, Part>()
  /** By the number of each part of the index, the last entry that was indexed in it. */
  #filled = new Map<number, number>()
  #moveTo: Statement
  #words: PartWords

  /** `messages` is the workspace's own database; `path` is the index's file, made if it is missing and replaced if it is damaged. */
  constructor(messages: Database, path: string, lastSeq: () => number, partEntries = partEntriesDefault) {
    this.#path = path
    this.#partEntries = partEntries
    this.#lastSeq = lastSeq
    this.#next = messages.prepare(`SELECT seq, octet_length(body), conversation, sender FROM messages
      WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT (? + 0)`)
    this.#body = messages.prepare('SELECT body FROM messages WHERE seq = ?')
    this.#index = this.#open()
    this.#moveTo = this.#begin()
    this.#words = new PartWords(this.#index)
    // An index that goes beyond the journal's end belongs to a newer state of the workspace, which was then restored from a backup.
    if (Math.max(0, ...this.#filled.values()) > lastSeq()) this.#startAfresh()
  }

  /** Returns the part of the index that holds an entry. */
  partOf(seq: number): number {
    return Math.floor((seq - 1) / this.#partEntries)
  }

  /** Returns the number of the last entry before a part of the index. */
  lastEntryBefore(part: number): number {
    return part * this.#partEntries
  }

  /** Indexes the next few messages of a part of the index. Returns false if none are left. */
  fillPart(part: number): boolean {
    return this.#repairing(() => this.#fill(part)) ?? true
  }

  /** The newest part of the index that is not complete; undefined if all parts are. */
  get newestUnfilledPart(): number | undefined {
    for (let part = this.partOf(this.#lastSeq()); part >= 0; part--) if (!this.#isWhole(part)) return part
    return undefined
  }

  /** The newest complete part of the index whose words are not all listed yet (search-parts.ts). */
  get newestUnnotedPart(): number | undefined {
    for (let part = this.partOf(this.#lastSeq()) - 1; part >= 0; part--)
      if (this.#isWhole(part) && !this.#words.isOver(part)) return part
    return undefined
  }

  /** Lists the next few words of a part (search-parts.ts). */
  noteWords(part: number): void {
    this.#repairing(() => this.#words.listWords(part))
  }

  /** Returns a filter for parts of the index: it tells whether a part may hold messages with all words of the text and all marks. */
  partFilter(text: string, marks: readonly string[]): (part: number) => boolean {
    const found = this.#repairing(() => this.#words.partsWith(text, marks))
    return (part) => !found || found.has(part) || !this.#words.isWhole(part)
  }

  /** Returns the entries of one part of the index that match. Undefined if the index was damaged: it is empty now, and must be filled again. */
  findInPart(part: number, query: string): number[] | undefined {
    return this.#repairing(() =>
      this.#part(part)
        .find.all(query)
        .map(([seq]) => seq as number),
    )
  }

  /** Returns the parts of the index whose entries are all at or below a number. */
  partsBelow(seq: number): number[] {
    return [...this.#filled.keys()].filter((part) => this.lastEntryBefore(part + 1) <= seq)
  }

  /** Empties a part of the index whose messages were pruned; the part is filled again with the messages that are left. */
  emptyPart(part: number): void {
    this.#repairing(() =>
      this.#index.transact(() => {
        this.#index.exec(`DROP TABLE IF EXISTS part_${part}`)
        this.#index.exec(`DELETE FROM progress WHERE part = ${part}`)
        this.#words.forget(part)
      }),
    )
    this.#parts.delete(part)
    this.#filled.delete(part)
  }

  /**
   * Gives unused pages of the index back to the disk until `isEnough`. Returns whether some are left; if not, the file and its write-ahead log are cut to their
   * lengths. An index of an older version, whose file cannot shrink, is deleted and filled again.
   */
  releasePages(isEnough: () => boolean): boolean {
    const free = new FreePages(this.#index)
    if (!free.canShrink && free.bytes > 0) this.#startAfresh()
    else if (this.#repairing(() => this.#index.transact(() => free.release(isEnough)))) return true
    else this.#repairing(() => this.#index.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)'))
    return false
  }

  close(): void {
    this.#index.close()
  }

  #isWhole(part: number): boolean {
    return (this.#filled.get(part) ?? 0) >= Math.min(this.lastEntryBefore(part + 1), this.#lastSeq())
  }

  #fill(part: number): boolean {
    if (this.#isWhole(part)) return false
    const end = Math.min(this.lastEntryBefore(part + 1), this.#lastSeq())
    const rows = this.#next.all(this.#filled.get(part) ?? this.lastEntryBefore(part), end, sliceRows) as [
      number,
      number,
      number,
      string,
    ][]
    let [bytes, last] = [0, rows.length < sliceRows ? end : (rows[rows.length - 1]?.[0] as number)]
    // The table is created before the transaction: a rollback, as on a full disk, would remove it, while its prepared statements are kept.
    const { add, merge } = this.#part(part)
    this.#index.transact(() => {
      for (const [seq, size, conversation, sender] of rows) {
        if (bytes > 0 && bytes + size > sliceBytes) {
          last = seq - 1
          break
        }
        bytes += size
        add.run(seq, this.#body.get(seq)?.[0] as string, `${conversationMark(conversation)} ${senderMark(sender)}`)
      }
      if (rows.length > 0) merge.run(mergePages)
      this.#moveTo.run(part, last)
    })
    this.#filled.set(part, last)
    return true
  }

  #part(part: number): Part {
    const known = this.#parts.get(part)
    if (known) return known
    const table = `part_${part}`
    const index = this.#index
    index.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${table} USING fts5(body, marks, content='')`)
    if (!this.#filled.has(part)) index.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('automerge', 0)`)
    const made = index.prepareAll({
      add: `INSERT INTO ${table} (rowid, body, marks) VALUES (?, ?, ?)`,
      merge: `INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`,
      find: `SELECT rowid FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid DESC`,
    })
    this.#parts.set(part, made)
    return made
  }

  /** Runs `work` on the index. Returns undefined if the index is damaged: it is then deleted, to be filled again from the messages. */
  #repairing<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!isDamageError(error, this.#path)) throw error
      this.#startAfresh()
      return undefined
    }
  }

  #open(): Database {
    const database = new Database(this.#path)
    try {
      if (isOfShape(database)) {
        prepared(database).prepare(progress).all()
        return database
      }
    } catch (error) {
      if (!isDamageError(error, this.#path)) {
        database.close()
        throw error
      }
    }
    database.close()
    this.#remove()
    return prepared(new Database(this.#path))
  }

  /** Deletes the index with its write-ahead log: SQLite would apply an old log to the new file. */
  #remove(): void {
    if (this.#path !== ':memory:') for (const end of ['', '-wal', '-shm']) rmSync(this.#path + end, { force: true })
  }

  #startAfresh(): void {
    this.#index.close()
    this.#remove()
    this.#index = this.#open()
    this.#moveTo = this.#begin()
    this.#words = new PartWords(this.#index)
  }

  #begin(): Statement {
    this.#parts = new Map()
    this.#filled = new Map(this.#index.prepare(progress).all() as [number, number][])
    return this.#index.prepare('INSERT OR REPLACE INTO progress (part, seq) VALUES (?, ?)')
  }
}

function isOfShape(database: Database): boolean {
  const isEmpty = database.prepare('SELECT count(*) FROM sqlite_master').get()?.[0] === 0
  return isEmpty || database.prepare('PRAGMA user_version').get()?.[0] === shape
}

function prepared(database: Database): Database {
  makeShrinkable(database)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = OFF')
  database.exec('CREATE TABLE IF NOT EXISTS progress (part INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT')
  database.exec(`PRAGMA user_version = ${shape}`)
  return database
}
