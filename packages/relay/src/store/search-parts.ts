// A list of the words in each part of the search index, so that a search skips parts that cannot match. Without it, a search for a rare word would read every
// part.

import type { Database, Statement } from './database.ts'
import { searchQueriesOf } from './search-query.ts'

/** Number of words that one row lists, and maximum number of rows for one part. */
const [wordsPerRow, rowsPerPart] = [400, 4_096]
/** A search for words by their beginning (`pars*`) uses the list only from this many characters on: shorter beginnings occur in nearly every part. */
const beginningMin = 3

/** Letters and digits that every version of Unicode has, so also the one that SQLite's index was built with. */
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

interface ListedPart {
  rows: number
  /** The last word that was listed. Words are listed in alphabetical order. */
  last: string
  isWhole: boolean
}

export class PartWords {
  readonly #index: Database
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #listed: Map<number, ListedPart>

  constructor(index: Database) {
    this.#index = index
    index.exec(tables)
    this.#sql = index.prepareAll(statements)
    const rows = this.#sql.noted.all() as [number, number, string, number][]
    this.#listed = new Map(rows.map(([part, rows, last, isWhole]) => [part, { rows, last, isWhole: isWhole === 1 }]))
  }

  /** Whether the list has every word of this part of the search index. */
  isWhole(part: number): boolean {
    return this.#listed.get(part)?.isWhole === true
  }

  /** Whether listing the words of this part is over: all are listed, or their maximum number is reached. */
  isOver(part: number): boolean {
    const { rows = 0, isWhole = false } = this.#listed.get(part) ?? {}
    return isWhole || rows >= rowsPerPart
  }

  /** Lists the next words of a part, which must be complete: no more messages are added to it. */
  listWords(part: number): void {
    const { rows, last } = this.#listed.get(part) ?? { rows: 0, last: '' }
    const vocabulary = `temp.words_of_${part}`
    this.#index.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${vocabulary} USING fts5vocab(main, part_${part}, row)`)
    const next = this.#index.prepare(`SELECT term FROM ${vocabulary} WHERE term > ? ORDER BY term LIMIT ${wordsPerRow}`)
    const words = next.all(last).map(([word]) => word as string)
    const isWhole = words.length < wordsPerRow
    const listed = { rows: rows + 1, last: words.at(-1) ?? last, isWhole }
    this.#index.transact(() => {
      if (words.length > 0) this.#sql.add.run(part * rowsPerPart + rows, words.join(' '))
      this.#sql.note.run(part, listed.rows, listed.last, isWhole ? 1 : 0)
    })
    this.#listed.set(part, listed)
    if (this.isOver(part)) this.#index.exec(`DROP TABLE ${vocabulary}`)
  }

  /** Deletes the list of a part's words, inside a transaction. */
  forget(part: number): void {
    this.#sql.remove.run(part * rowsPerPart, (part + 1) * rowsPerPart)
    this.#sql.forget.run(part)
    this.#listed.delete(part)
  }

  /**
   * Returns the parts whose lists have all words of the text and all marks; undefined if no word could be looked up. Parts whose lists are incomplete may be
   * missing from the result.
   */
  partsWith(text: string, marks: readonly string[]): Set<number> | undefined {
    const asked = [...wordsIn(text), ...marks.map((mark) => `"${mark}"`)]
    let found: Set<number> | undefined
    for (const word of asked) {
      try {
        const parts = this.#sql.parts.all(word).map(([part]) => part as number)
        found = new Set(found ? parts.filter((part) => found?.has(part)) : parts)
      } catch (error) {
        // A word that we take for one may be two to SQLite's tokenizer. The index cannot look up a phrase, so such a word is left out.
        if (!/phrase queries/.test((error as Error).message)) throw error
      }
    }
    return found
  }
}

/**
 * Returns the words of a search text, including those of its phrases, as queries of the list. Combining characters count as parts of words, as in SQLite's
 * tokenizer. A word without a letter that the tokenizer surely knows is left out, since the tokenizer may ignore it.
 */
function wordsIn(text: string): string[] {
  const phrases = searchQueriesOf(text).flatMap((question) => [...question.matchAll(/"([^"]*)"(\*)?/g)])
  return phrases.flatMap(([, phrase = '', star]) => {
    const words = phrase.match(/[\p{L}\p{N}\p{Co}\p{M}]+/gu) ?? []
    // SQLite applies the star ("any word that begins so") to the last word that it recognises, even if other characters follow that word in the phrase.
    const last = star === undefined ? -1 : words.findLastIndex((word) => oldLetter.test(word))
    return words.flatMap((word, at) => {
      if (!oldLetter.test(word) || (at === last && word.length < beginningMin)) return []
      if (at === last && at < words.length - 1) return []
      return [`"${word}"${at === last ? '*' : ''}`]
    })
  })
}
