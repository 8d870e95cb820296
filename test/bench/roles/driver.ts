// A floor: the bare SQLite driver, one journal row without a body and one message row with one index for each message, fsynced at every commit.

import { makeIds } from '@agent-relay/sdk/wire'
import { Database } from 'agent-relay/dist/store/database.js'
import { quantile } from '../figures.ts'
import { serve } from './serve.ts'

export interface DriverQuestion {
  path: string
  perCommit: number
  ms: number
  bodyBytes: number
}

export interface DriverAnswer {
  perSecond: number
  commitP50Ms: number
}

const shape = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, cause TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, n INTEGER NOT NULL,
    sender TEXT NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS messages_place ON messages (conversation, n);
`

const ids = makeIds()
let seq = 0

function run({ path, perCommit, ms, bodyBytes }: DriverQuestion): DriverAnswer {
  const database = new Database(path)
  database.exec(shape)
  const journal = database.prepare('INSERT INTO journal (seq, at, cause) VALUES (?, ?, ?)')
  const message = database.prepare('INSERT INTO messages (seq, conversation, n, sender, body) VALUES (?, ?, ?, ?, ?)')
  const body = 'x'.repeat(bodyBytes)
  const commits: number[] = []
  const from = performance.now()
  let now = from
  while (now - from < ms) {
    database.exec('BEGIN IMMEDIATE')
    for (let i = 0; i < perCommit; i++) {
      seq++
      journal.run(seq, Date.now(), ids('c'))
      message.run(seq, 1, seq, 'Alice', body)
    }
    database.exec('COMMIT')
    const after = performance.now()
    commits.push(after - now)
    now = after
  }
  database.close()
  return { perSecond: (commits.length * perCommit * 1000) / (now - from), commitP50Ms: quantile(commits, 0.5) }
}

serve(run)
