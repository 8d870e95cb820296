// The unused pages of a database file, and how they are given back to the disk a few at a time. SQLite can do so only in a file with `auto_vacuum` set; a file
// of an older version is rewritten once to get it (daemon/repacking.ts).

import type { Database, Statement } from './database.ts'

/** The result of `PRAGMA auto_vacuum` for a file that can give pages back. */
const incremental = 2
const pagesPerStep = 8

/**
 * Sets `auto_vacuum`, so that the file can give unused pages back. It takes effect only before the first table exists, or in a copy of the whole database. A
 * file that has it is left alone, since SQLite would write and sync the setting each time.
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

  /** The size of all unused pages, in bytes. */
  get bytes(): number {
    return this.#number('unused') * this.#number('pageBytes')
  }

  /** The size in bytes that the file has once the write-ahead log is copied into it. */
  get fileBytes(): number {
    return this.#number('pages') * this.#number('pageBytes')
  }

  /** Gives pages back: moves pages from the end of the file into unused ones until `isEnough`, inside a transaction. Returns whether unused pages are left. */
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
