// Whether a database file is whole, asked from outside: without the migrations and tables that opening a store brings.

import { Database } from './database.ts'

/** `ok`, or what is wrong with it in SQLite's words. A daemon may have it open. */
export function soundnessOf(path: string): string {
  let database: Database | undefined
  try {
    database = new Database(path)
    return String(database.prepare('PRAGMA integrity_check(1)').get()?.[0])
  } catch (error) {
    return (error as Error).message
  } finally {
    database?.close()
  }
}
