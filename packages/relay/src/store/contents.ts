// Reads a few facts about a workspace, such as its id, from a database file that is not open as a workspace.

import { statSync } from 'node:fs'
import { daemonName } from '@agent-relay/sdk/protocol'
import { Database } from './database.ts'
import { busyTimeoutMs } from './integrity.ts'
import { knownVersion } from './migrating.ts'
import { isArchiveFile } from './pruning.ts'

export interface DatabaseContents {
  /** The workspace's id. Unset if the file holds no workspace yet. */
  id?: string
  /** The version of the file's schema. */
  schema: number
  /** The number of the journal's last entry. */
  seq: number
  messages: number
}

export function readDatabaseContents(path: string): DatabaseContents {
  return reading(path, (database) => {
    const number = (sql: string) => Number(database.prepare(sql).get()?.[0] ?? 0)
    return {
      id: idIn(database),
      schema: number('PRAGMA user_version'),
      seq: number('SELECT max(seq) FROM journal'),
      messages: number('SELECT count(*) FROM messages'),
    }
  })
}

/**
 * Returns the archive's files, each with the number of its bytes that belong to this database. Later bytes belong to a pruning that this database has not seen.
 */
export function readArchiveRecords(path: string): { file: string; bytes: number }[] {
  return reading(path, (database) => {
    // A file of an older version that was not migrated yet has no table `prunes`.
    if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'prunes'").get()) return []
    const rows = database.prepare('SELECT file, bytes FROM prunes WHERE file IS NOT NULL ORDER BY id').all()
    return rows.flatMap(([file, bytes]) => (isArchiveFile(file) ? [{ file, bytes: Number(bytes) }] : []))
  })
}

/** Returns the workspace's id; undefined if the file holds no workspace yet. */
export function readWorkspaceId(path: string): string | undefined {
  return reading(path, idIn)
}

function idIn(database: Database): string | undefined {
  return database.prepare("SELECT value FROM meta WHERE name = 'id'").get()?.[0] as string | undefined
}

/** Throws if this program does not know the schema version of the file. */
export function assertKnownVersion(path: string): void {
  reading(path, knownVersion)
}

/** Returns sizes in bytes. `log` is the write-ahead log, which holds commits that are not in the database file yet. */
export function databaseSizes(path: string): { database: number; log: number } {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return { database: size(path), log: size(`${path}-wal`) }
}

/** Whether a workspace was never used: it has no agents, messages or runs. */
export function isUnusedWorkspace(path: string): boolean {
  return reading(path, (database) => {
    const isEmpty = (sql: string, ...values: string[]) => database.prepare(sql).get(...values) === undefined
    return (
      isEmpty('SELECT 1 FROM messages LIMIT 1') &&
      isEmpty('SELECT 1 FROM runs LIMIT 1') &&
      isEmpty('SELECT 1 FROM agents WHERE name <> ? LIMIT 1', daemonName)
    )
  })
}

function reading<T>(path: string, read: (database: Database) => T): T {
  const database = new Database(path)
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    return read(database)
  } finally {
    database.close()
  }
}
