// The shape of a workspace's database, one step per version. A step is never changed once released; a new one is added.

import { RefusalError } from '../refusal-error.ts'
import type { Database } from './database.ts'

const steps: string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  -- (cause, by) is the idempotency record; cause first, since it is time-ordered and so is appended at the index's end.
  CREATE TABLE journal (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, cause TEXT NOT NULL,
    rule TEXT NOT NULL, facts TEXT NOT NULL, outcome TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX journal_cause ON journal (cause, by);
  CREATE TABLE agents (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, id TEXT NOT NULL, type TEXT NOT NULL,
    cli TEXT, model TEXT, parent TEXT, handle TEXT UNIQUE, role TEXT) STRICT;
  CREATE TABLE tokens (hash TEXT PRIMARY KEY, agent INTEGER NOT NULL, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX tokens_agent ON tokens (agent, seq);
  CREATE TABLE conversations (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  -- One stay of one agent in one conversation: a recipient of message n has joined_n < n <= left_n. Up to the cursor all is read.
  CREATE TABLE members (agent INTEGER NOT NULL, conversation INTEGER NOT NULL, joined_n INTEGER NOT NULL, left_n INTEGER,
    cursor INTEGER NOT NULL, PRIMARY KEY (agent, conversation, joined_n)) STRICT, WITHOUT ROWID;
  CREATE INDEX members_conversation ON members (conversation);
  -- seq is the journal's: a message belongs to its entry. The only copy of the body.
  CREATE TABLE messages (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, conversation INTEGER NOT NULL,
    n INTEGER NOT NULL, sender TEXT NOT NULL, kind TEXT NOT NULL, thread TEXT, reply_to TEXT, body TEXT NOT NULL) STRICT;
  -- sender is in it so that skipping one's own messages reads no row.
  CREATE UNIQUE INDEX messages_place ON messages (conversation, n, sender);
  CREATE INDEX messages_thread ON messages (thread, seq) WHERE thread IS NOT NULL;
  -- What is known of one message for one recipient. Written when it is offered or read, never when it is sent.
  CREATE TABLE receipts (message INTEGER NOT NULL, agent INTEGER NOT NULL, offered_at INTEGER, route TEXT, session TEXT,
    until INTEGER, read_at INTEGER, PRIMARY KEY (message, agent)) STRICT, WITHOUT ROWID;
  CREATE TABLE reactions (message INTEGER NOT NULL, agent TEXT NOT NULL, emoji TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (message, agent, emoji)) STRICT, WITHOUT ROWID;
  `,
  `
  -- What belongs to an entry and is no message: the input or output of an action. Never changed, like a message.
  CREATE TABLE bodies (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE actions (name TEXT PRIMARY KEY, tool TEXT NOT NULL UNIQUE, provider TEXT NOT NULL, session TEXT NOT NULL,
    description TEXT NOT NULL, input_schema TEXT NOT NULL, output_schema TEXT, available_to TEXT, timeout_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  -- input and output are numbers of entries, whose bodies they are.
  CREATE TABLE invocations (id TEXT PRIMARY KEY, action TEXT NOT NULL, caller TEXT NOT NULL, provider TEXT, session TEXT,
    at INTEGER NOT NULL, until INTEGER NOT NULL, input INTEGER NOT NULL, ok INTEGER, code TEXT, message TEXT, output INTEGER,
    duration_ms INTEGER) STRICT, WITHOUT ROWID;
  CREATE INDEX invocations_running ON invocations (until) WHERE ok IS NULL;
  `,
  `
  -- Null: valid for good.
  ALTER TABLE tokens ADD COLUMN until INTEGER;
  `,
  `
  -- task is the number of the entry whose body it is. A name may have had several programs, one after the other.
  CREATE TABLE workers (id TEXT PRIMARY KEY, name TEXT NOT NULL, parent TEXT NOT NULL, cli TEXT NOT NULL, command TEXT, args TEXT,
    model TEXT, cwd TEXT NOT NULL, is_injected INTEGER NOT NULL, wish TEXT NOT NULL, status TEXT NOT NULL, pid INTEGER, code INTEGER,
    reason TEXT, at INTEGER NOT NULL, changed_at INTEGER NOT NULL, task INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX workers_name ON workers (name);
  CREATE INDEX workers_running ON workers (id) WHERE status <> 'exited';
  `,
  `
  -- What a run handed over, as gzip. Belongs to its entry and is never changed, like a body.
  CREATE TABLE payloads (seq INTEGER PRIMARY KEY, gzip BLOB NOT NULL) STRICT;
  -- contract and payload are numbers of entries, to which the one's text and the other's bytes belong.
  CREATE TABLE runs (id TEXT PRIMARY KEY, agent TEXT NOT NULL, parent TEXT NOT NULL, harness TEXT NOT NULL, model TEXT, cwd TEXT,
    status TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, contract INTEGER NOT NULL, summary TEXT, reason TEXT,
    payload_bytes INTEGER, payload INTEGER) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_running ON runs (id) WHERE status = 'running';
  CREATE INDEX runs_agent ON runs (agent, id);
  CREATE INDEX runs_parent ON runs (parent, id);
  `,
  `
  -- The entry of its exit, whose body is its last screen, if there was one.
  ALTER TABLE workers ADD COLUMN screen INTEGER;
  `,
]

/** Tables that replaying the journal rebuilds; `journal`, `messages`, `bodies` and `payloads` are the truth they come from. */
export const derivedTables = [
  'meta',
  'agents',
  'tokens',
  'conversations',
  'members',
  'receipts',
  'reactions',
  'actions',
  'invocations',
  'workers',
  'runs',
] as const

/** Settings of a connection that writes: an acknowledged commit is on the disk, on macOS too. */
export function tune(database: Database): void {
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  if (process.platform === 'darwin') database.exec('PRAGMA fullfsync = ON')
  database.exec('PRAGMA busy_timeout = 2000')
}

export function migrate(database: Database): void {
  const found = Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0)
  if (found > steps.length) {
    throw new RefusalError('workspace.newer', { path: database.path, found, known: steps.length })
  }
  for (let version = found; version < steps.length; version++) {
    database.transact(() => {
      database.exec(steps[version] as string)
      database.exec(`PRAGMA user_version = ${version + 1}`)
    })
  }
}

/** Tunes, migrates and reads what is read at the start; one that fails in that is closed, and left as it is. */
export function beginWith<T>(database: Database, read: (database: Database) => T): T {
  try {
    tune(database)
    migrate(database)
    return read(database)
  } catch (error) {
    database.close()
    throw error
  }
}
