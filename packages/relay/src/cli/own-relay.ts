// This installation as `agent-relay prove` tries it: its launcher, and the content of a database that one of its daemons wrote.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { archiveFolder } from '../daemon/archive.ts'
import { readArchiveRecords } from '../store/contents.ts'
import { Database } from '../store/database.ts'
import { launcher } from './own-name.ts'

export const installedRelay = { launcher, read }

/** How much is read of each message's body. */
const bodyChars = 200

function read(databasePath: string): { bodies: string[]; archived: string[]; integrity: string } {
  const database = new Database(databasePath)
  try {
    const rows = database.prepare(`SELECT substr(body, 1, ${bodyChars}) FROM messages ORDER BY seq`).all()
    const integrity = String(database.prepare('PRAGMA integrity_check').get()?.[0])
    return { bodies: rows.map(([body]) => body as string), archived: readArchived(databasePath), integrity }
  } finally {
    database.close()
  }
}

/** Reads the messages that were pruned. Bytes behind those that the database knows belong to a pruning that was cut off. */
function readArchived(databasePath: string): string[] {
  return readArchiveRecords(databasePath).flatMap(({ file, bytes }) => {
    const path = join(dirname(databasePath), archiveFolder, file)
    const lines = gunzipSync(readFileSync(path).subarray(0, bytes)).toString().split('\n').slice(0, -1)
    return lines.flatMap((line) => {
      const { type, message } = JSON.parse(line)
      return type === 'message.created' ? [(message.body as string).slice(0, bodyChars)] : []
    })
  })
}
