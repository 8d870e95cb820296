// Checks that a database file has our schema. A trigger or view contains SQL that runs when we write or read, so a file from somebody else must not have any
// that is not ours. integrity.ts checks that the file's pages are undamaged.

import { RefusalError } from '../core/refusal-error.ts'
import { Database } from './database.ts'
import { knownVersion, migrate, versionFault } from './migrating.ts'

/** Tables that SQLite's command `ANALYZE` creates: a person may have run it on the file. */
const statistics = new Set([
  'table sqlite_stat1: CREATE TABLE sqlite_stat1(tbl,idx,stat)',
  'table sqlite_stat4: CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
])

/**
 * Returns the difference between the schema of the file and that of its version; undefined if there is none. Nothing is written, and none of the file's tables
 * is read. Throws if the file's version is newer than this program.
 */
export function schemaFault(path: string): string | undefined {
  let database: Database | undefined
  try {
    database = new Database(path)
    return versionFault(database) ?? difference(database)
  } catch (error) {
    if (error instanceof RefusalError && error.refusal.code === 'workspace.newer') throw error
    return (error as Error).message
  } finally {
    database?.close()
  }
}

function difference(database: Database): string | undefined {
  const [found, ours] = [schemaOf(database), schemaAt(knownVersion(database))]
  const added = [...found.keys()].find((each) => !ours.has(each) && !statistics.has(each))
  if (added !== undefined) return `it has a ${nameOf(added)} that Agent Relay did not make`
  const missing = [...ours.keys()].find((each) => !found.has(each))
  if (missing !== undefined) return `it lacks the ${nameOf(missing)}`
  const twice = [...found].find(([, times]) => times > 1)
  return twice && `it has the ${nameOf(twice[0])} twice`
}

function schemaAt(version: number): Map<string, number> {
  const fresh = new Database(':memory:')
  try {
    migrate(fresh, version)
    return schemaOf(fresh)
  } finally {
    fresh.close()
  }
}

/** Returns each object of a schema (table, index, trigger, view) with its count: a forged file may have one twice. */
function schemaOf(database: Database): Map<string, number> {
  const all = new Map<string, number>()
  for (const [type, name, table, sql] of database
    .prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema')
    .all()) {
    const key = `${type} ${name}${table === name ? '' : ` on ${table}`}: ${sql ?? ''}`
    all.set(key, (all.get(key) ?? 0) + 1)
  }
  return all
}

/** Returns the type and name of a schema object without special characters, since it is shown to a person and may come from anybody. */
function nameOf(key: string): string {
  return key
    .slice(0, key.indexOf(':'))
    .replace(/[^ \w]/g, '?')
    .slice(0, 100)
}
