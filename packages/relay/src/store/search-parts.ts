// Which parts of the search index have which words, so that a search passes over parts that cannot hold what it looks for: it would otherwise look for a
// rare word in every part.

import type { Database, Statement } from './database.ts'
import { searchQueriesOf } from './search-query.ts'

/** Words that are noted at once, in one row; a part has at most so many rows. */
const [wordsPerRow, rowsPerPart] = [400, 4_096]
/** The beginning of a word is looked up here only from this length on: a shorter one is in nearly every part, and in many rows of each. */
const beginningMin = 3

/** Letters and digits that were in Unicode long before the version that the index knows. */
const oldLetter =
  /[0-9A-Za-z\u00c0-\u024f\u0391-\u03c9\u0410-\u044f\u05d0-\u05ea\u0627-\u064a\u0905-\u0939\u3041-\u30fe\u4e00-\u9fa5\uac00-\ud7a3]/

const tables = `
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(word, content='', contentless_delete=1, detail=none);
  CREATE TABLE IF NOT EXISTS noted (part INTEGER PRIMARY KEY, rows INTEGER NOT NULL, last TEXT NOT NULL, is_whole INTEGER NOT NULL) STRICT;`

const statements = {
  noted: 'SELECT part, rows, last, is_whole FROM noted',
  note: 'INSERT OR REPLACE INTO noted (part, rows, last, is_whole) VALUES (?, ?, ?, ?)',
  add: 'INSERT INTO words (rowid, word) VALUES (?, ?)',
  forget: 'DELETE FROM noted WHERE part = ?',
  remove: 'DELETE FROM words WHERE rowid >= ? AND rowid < ?',
  parts: `SELECT DISTINCT rowid / ${rowsPerPart} FROM words WHERE words MATCH ?`,
}

interface Noted {
  rows: number
  /** The last word that was noted. */
  last: string
  isWhole: boolean
}

export class PartWords {
  readonly #index: Database
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #noted: Map<number, Noted>

  constructor(index: Database) {
    this.#index = index
    index.exec(tables)
    this.#sql = index.prepareAll(statements)
    const rows = this.#sql.noted.all() as [number, number, string, number][]
    this.#noted = new Map(rows.map(([part, rows, last, isWhole]) => [part, { rows, last, isWhole: isWhole === 1 }]))
  }

  /** Whether every word of this part of the search index has been recorded. */
  isWhole(part: number): boolean {
    return this.#noted.get(part)?.isWhole === true
  }

  /** Whether nothing is left to note of the part: all is noted, or the part has more words than are noted of one. */
  isOver(part: number): boolean {
    const { rows = 0, isWhole = false } = this.#noted.get(part) ?? {}
    return isWhole || rows >= rowsPerPart
  }

  /** Notes the next words of a part to which no more messages are added. */
  note(part: number): void {
    const { rows, last } = this.#noted.get(part) ?? { rows: 0, last: '' }
    const vocabulary = `temp.words_of_${part}`
    this.#index.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${vocabulary} USING fts5vocab(main, part_${part}, row)`)
    const next = this.#index.prepare(`SELECT term FROM ${vocabulary} WHERE term > ? ORDER BY term LIMIT ${wordsPerRow}`)
    const words = next.all(last).map(([word]) => word as string)
    const isWhole = words.length < wordsPerRow
    const noted = { rows: rows + 1, last: words.at(-1) ?? last, isWhole }
    this.#index.transact(() => {
      if (words.length > 0) this.#sql.add.run(part * rowsPerPart + rows, words.join(' '))
      this.#sql.note.run(part, noted.rows, noted.last, isWhole ? 1 : 0)
    })
    this.#noted.set(part, noted)
    if (this.isOver(part)) this.#index.exec(`DROP TABLE ${vocabulary}`)
  }

  /** Forgets the words of a part, inside a transaction. */
  forget(part: number): void {
    this.#sql.remove.run(part * rowsPerPart, (part + 1) * rowsPerPart)
    this.#sql.forget.run(part)
    this.#noted.delete(part)
  }

  /** Finds the parts that have all these words; undefined if that cannot be told. Parts whose words are not all noted may be missing. */
  partsWith(text: string, marks: readonly string[]): Set<number> | undefined {
    const asked = [...wordsIn(text), ...marks.map((mark) => `"${mark}"`)]
    let found: Set<number> | undefined
    for (const word of asked) {
      try {
        const parts = this.#sql.parts.all(word).map(([part]) => part as number)
        found = new Set(found ? parts.filter((part) => found?.has(part)) : parts)
      } catch (error) {
        // What is one word to us may be two to the index, which cannot look up two words in a row here.
        if (!/phrase queries/.test((error as Error).message)) throw error
      }
    }
    return found
  }
}

/**
 * Returns the words of a search as queries, also those of its phrases. Combining characters belong to a word, as the index sees it. A word without a letter
 * that the index certainly knows as one is left out: to the index it may be no word at all.
 */
function wordsIn(text: string): string[] {
  const phrases = searchQueriesOf(text).flatMap((question) => [...question.matchAll(/"([^"]*)"(\*)?/g)])
  return phrases.flatMap(([, phrase = '', star]) => {
    const words = phrase.match(/[\p{L}\p{N}\p{Co}\p{M}]+/gu) ?? []
    // SQLite's index gives a star ("any word that begins so") to the last word it recognises, even where the phrase ends in something that it skips.
    const last = star === undefined ? -1 : words.findLastIndex((word) => oldLetter.test(word))
    return words.flatMap((word, at) => {
      if (!oldLetter.test(word) || (at === last && word.length < beginningMin)) return []
      if (at === last && at < words.length - 1) return []
      return [`"${word}"${at === last ? '*' : ''}`]
    })
  })
}
