// What `agent-relay prove` needs of this installation: its launcher, and a function that reads the database of one of its daemons.

import { readArchivedBodies } from '../daemon/archive.ts'
import { Database } from '../store/database.ts'
import { relayScript } from './own-name.ts'

export const installedRelay = { launcher: relayScript, read }

/** Number of characters that are read of each message's body. */
const bodyChars = 200

function read(databasePath: string): { bodies: string[]; archived: string[]; integrity: string } {
  const database = new Database(databasePath)
  try {
    const rows = database.prepare(`SELECT substr(body, 1, ${bodyChars}) FROM messages ORDER BY seq`).all()
    const integrity = String(database.prepare('PRAGMA integrity_check').get()?.[0])
    const archived = readArchivedBodies(databasePath).map((body) => body.slice(0, bodyChars))
    return { bodies: rows.map(([body]) => body as string), archived, integrity }
  } finally {
    database.close()
  }
}
