// This installation as `agent-relay prove` tries it: its launcher, and the content of a database that one of its daemons wrote.

import { Database } from '../store/database.ts'
import { launcher } from './own-name.ts'

export const installedRelay = { launcher, read }

function read(databasePath: string): { bodies: string[]; integrity: string } {
  const database = new Database(databasePath)
  try {
    const rows = database.prepare('SELECT substr(body, 1, 200) FROM messages ORDER BY seq').all()
    const integrity = String(database.prepare('PRAGMA integrity_check').get()?.[0])
    return { bodies: rows.map(([body]) => body as string), integrity }
  } finally {
    database.close()
  }
}
