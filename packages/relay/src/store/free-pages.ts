// The unused pages of a database file, and how they are given back to the disk a few at a time. SQLite does that only in a file that was made for it;
// an older file has to be rewritten once (daemon/repacking.ts).

import type { Database, Statement } from './database.ts'

/** The answer of `PRAGMA auto_vacuum` for a file that can shrink. */
const incremental = 2
const pagesPerStep = 8

/**
 * Makes a file that can shrink: before the first table is made, or before a copy is made of a whole database. On another file it changes nothing; one that can
 * shrink already is not asked again, since SQLite would write that into it, with a sync, each time it is opened.
 */
export function makeShrinkable(database: Database): void {
  const mode = Number(database.prepare(statements.mode).get()?.[0])
  if (mode !== incremental) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
}

const statements = {
  mode: 'PRAGMA auto_vacuum',
  unused: 'PRAGMA freelist_count',
  pages: 'PRAGMA page_count',
  pageBytes: 'PRAGMA page_size',
  release: `PRAGMA incremental_vacuum(${pagesPerStep})`,
}

export class FreePages {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  get canShrink(): boolean {
    return this.#number('mode') === incremental
  }

  /** The bytes of all unused pages. */
  get bytes(): number {
    return this.#number('unused') * this.#number('pageBytes')
  }

  /** The length of the file once the log is copied into it. */
  get fileBytes(): number {
    return this.#number('pages') * this.#number('pageBytes')
  }

  /** Moves pages from the end of the file to unused places, inside a transaction, until `isEnough`. Returns whether unused pages are left. */
  release(isEnough: () => boolean): boolean {
    if (!this.canShrink) return false
    let unused = this.#number('unused')
    while (unused > 0) {
      this.#sql.release.all()
      const left = this.#number('unused')
      if (left >= unused || isEnough()) return left > 0 && left < unused
      unused = left
    }
    return false
  }

  #number(name: Exclude<keyof typeof statements, 'release'>): number {
    return Number(this.#sql[name].get()?.[0] ?? 0)
  }
}
