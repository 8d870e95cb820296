// Full-text search in a database of its own, which can be thrown away and filled again. It is never in the way of a send: default FTS5
// beside the message costs 6 to 12 times the message itself. Filled in small slices with bounded merges; one slice takes about 3 ms.

import { rmSync } from 'node:fs'
import { isDamage } from './damage.ts'
import { Database, type Statement } from './database.ts'

const sliceRows = 32
/** Pages merged after each slice. Without it SQLite merges everything at once after a while, for most of a second. */
const mergePages = 16

export class SearchIndex {
  readonly #messages: Database
  readonly #path: string
  readonly #next: Statement
  #index: Database
  #sql: ReturnType<typeof prepare>
  #position: number

  /** `messages` is the workspace's own database; `path` the index's, made if it is missing and replaced if it is damaged. */
  constructor(messages: Database, path: string, lastSeq: number) {
    this.#messages = messages
    this.#path = path
    this.#next = this.#messages.prepare('SELECT seq, body FROM messages WHERE seq > ? ORDER BY seq LIMIT (? + 0)')
    this.#index = this.#open()
    this.#sql = prepare(this.#index)
    this.#position = this.#readPosition()
    if (this.#position > lastSeq) this.#startAfresh()
  }

  /** Indexes the next few messages; false when there is nothing left to do. */
  advance(): boolean {
    return this.#mending(() => this.#advance())
  }

  #advance(): boolean {
    const rows = this.#next.all(this.#position, sliceRows)
    if (rows.length === 0) return false
    const last = rows[rows.length - 1]?.[0] as number
    this.#index.transact(() => {
      for (const [seq, body] of rows) this.#sql.add.run(seq as number, body as string)
      this.#sql.merge.run(mergePages)
      this.#sql.moveTo.run(last)
    })
    this.#position = last
    return true
  }

  /** Rows (journal numbers of messages) that match, newest first, below `before`. */
  find(text: string, before: number, limit: number): number[] {
    const query = toQuery(text)
    if (query === '') return []
    return this.#mending(() => {
      // Nothing to do unless the index was thrown away just now.
      while (this.#advance());
      return this.#sql.find.all(query, before, limit).map(([seq]) => seq as number)
    })
  }

  close(): void {
    this.#index.close()
  }

  /** An index that turns out damaged is thrown away and filled again: nothing is lost with it. */
  #mending<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (!isDamage(error, this.#path)) throw error
      this.#startAfresh()
      return work()
    }
  }

  #open(): Database {
    const database = new Database(this.#path)
    try {
      return prepared(database)
    } catch (error) {
      database.close()
      if (!isDamage(error, this.#path)) throw error
      this.#remove()
      return prepared(new Database(this.#path))
    }
  }

  /** With its log: SQLite would play an old one into the new file. */
  #remove(): void {
    if (this.#path !== ':memory:') for (const end of ['', '-wal', '-shm']) rmSync(this.#path + end, { force: true })
  }

  #startAfresh(): void {
    this.#index.close()
    this.#remove()
    this.#index = this.#open()
    this.#sql = prepare(this.#index)
    this.#position = this.#readPosition()
  }

  #readPosition(): number {
    return Number(this.#sql.position.get()?.[0] ?? 0)
  }
}

function prepared(database: Database): Database {
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = OFF')
  database.exec("CREATE VIRTUAL TABLE IF NOT EXISTS bodies USING fts5(body, content='')")
  database.exec("INSERT INTO bodies (bodies, rank) VALUES ('automerge', 0)")
  database.exec('CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT')
  return database
}

function prepare(database: Database) {
  return database.prepareAll({
    add: 'INSERT INTO bodies (rowid, body) VALUES (?, ?)',
    merge: "INSERT INTO bodies (bodies, rank) VALUES ('merge', ?)",
    moveTo: 'INSERT OR REPLACE INTO progress (one, seq) VALUES (1, ?)',
    position: 'SELECT seq FROM progress',
    find: 'SELECT rowid FROM bodies WHERE bodies MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT (? + 0)',
  })
}

/** Words, all of which must occur; "two words" as a phrase; a star at a word's end for its beginning. Nothing else is syntax. */
function toQuery(text: string): string {
  // FTS5 ends a query at U+0000 and then misses the closing quote.
  const parts = text.replaceAll('\0', ' ').match(/"[^"]*"|\S+/g) ?? []
  const quoted = parts.map((part) => {
    const isPrefix = part.endsWith('*') && !part.startsWith('"')
    const words = part.replaceAll('"', ' ').replace(/\*$/, '').trim()
    return words === '' ? '' : `"${words}"${isPrefix ? '*' : ''}`
  })
  return quoted.filter((part) => part !== '').join(' ')
}
