// Migrates a workspace's database to the settings and tables of this version, or refuses a file whose version is unknown.

import { RefusalError } from '../core/refusal-error.ts'
import { damagedFileRefusal } from './damage.ts'
import type { Database } from './database.ts'
import { makeShrinkable } from './free-pages.ts'
import { migrationSteps } from './migrations.ts'

/** How long a writing connection waits for another process's lock on the database, in ms. */
export const writerTimeoutMs = 2_000

/** Configures a connection that writes, so that every acknowledged commit is on the disk, even on macOS. */
export function configureConnection(database: Database): void {
  // The timeout is set first, because another process that has just read the file, such as `agent-relay doctor`, may be removing its write-ahead log.
  database.exec(`PRAGMA busy_timeout = ${writerTimeoutMs}`)
  // This comes before the journal mode, which is written into the file: `auto_vacuum` can only be set in an empty file.
  makeShrinkable(database)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  if (process.platform === 'darwin') database.exec('PRAGMA fullfsync = ON')
}

/** Returns what is wrong with the schema version in the file; undefined if nothing is. Only a file without tables may have version 0. */
export function versionFault(database: Database): string | undefined {
  const found = versionOf(database)
  if (found > 0) return undefined
  const tables = Number(database.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").get()?.[0])
  return found === 0 && tables === 0 ? undefined : `its schema version is ${found}, and it has ${tables} tables`
}

function versionOf(database: Database): number {
  return Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0)
}

/** Returns the version of the file's schema. Throws if the version is wrong, or newer than this program. */
export function knownVersion(database: Database): number {
  const fault = versionFault(database)
  if (fault !== undefined) throw damagedFileRefusal(database.path, fault)
  const found = versionOf(database)
  if (found <= migrationSteps.length) return found
  throw new RefusalError('workspace.newer', { path: database.path, found, known: migrationSteps.length })
}

/** Files from this size on are migrated in a thread; a smaller one is migrated in less time than a thread takes to start. */
export const largeBytes = 8 * 1024 * 1024

/**
 * Migrates the tables to the newest version, or to the version `to`: see schema.ts. A small file takes all steps in one transaction, since every commit waits
 * for the disk. A large file commits each step, which keeps its write-ahead log short: if the process is killed, the finished steps are kept.
 */
export function migrate(database: Database, to: number = migrationSteps.length): void {
  const found = knownVersion(database)
  if (found >= to) return
  const versions = Array.from({ length: to - found }, (_, n) => found + n)
  const batches = sizeOf(database) < largeBytes ? [versions] : versions.map((version) => [version])
  try {
    for (const batch of batches)
      database.transact(() => {
        for (const version of batch) takeStep(database, version)
      })
  } catch (error) {
    // A migration step never fails on intact tables of the version before, so these errors mean that the file is damaged.
    const { message } = error as Error
    if (!/already exists|no such|duplicate column/.test(message)) throw error
    throw damagedFileRefusal(database.path, `its schema version is ${found}, which its tables are not: ${message}`)
  }
}

function sizeOf(database: Database): number {
  const [pages, bytes] = ['PRAGMA page_count', 'PRAGMA page_size'].map((sql) =>
    Number(database.prepare(sql).get()?.[0]),
  )
  return Number(pages) * Number(bytes)
}

function takeStep(database: Database, version: number): void {
  const [sql, after] = [migrationSteps[version]].flat() as [string, ((database: Database) => void)?]
  database.exec(sql)
  after?.(database)
  database.exec(`PRAGMA user_version = ${version + 1}`)
}

/** Configures and migrates a database that was just opened, then returns what `read` reads from it. If any of this fails, the database is closed. */
export function prepareDatabase<T>(database: Database, read: (database: Database) => T): T {
  try {
    configureConnection(database)
    migrate(database)
    return read(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Replaces the rows of all tables by those of another database of the same version, in one transaction. */
export function replaceRows(database: Database, path: string): void {
  database.exec(`ATTACH '${path.replaceAll("'", "''")}' AS other`)
  database.transact(() => {
    const tables = database.prepare(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
    )
    for (const [table] of tables.all()) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all().join(', ')
      database.exec(`DELETE FROM main.${table}`)
      database.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM other.${table}`)
    }
  })
  database.exec('DETACH other')
}
