// The schema of a workspace's database, as one migration step per version. A released step is never changed; changes are new steps.

import { fillConcerns } from './concerns.ts'
import type { Database } from './database.ts'

/** A migration step: SQL, and optionally a function for what SQL cannot do. */
type MigrationStep = string | [sql: string, after: (database: Database) => void]

export const migrationSteps: MigrationStep[] = [
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
  -- What belongs to an entry and is not a message: the input or output of an action. Never changed, like a message.
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
  `
  -- Ids and times follow the clock, which may step back: what is listed in order is ordered by its entry's number.
  DROP INDEX runs_agent;
  DROP INDEX runs_parent;
  CREATE INDEX runs_agent ON runs (agent, contract);
  CREATE INDEX runs_parent ON runs (parent, contract);
  CREATE INDEX runs_order ON runs (contract);
  CREATE INDEX workers_order ON workers (task);
  ALTER TABLE reactions ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- What was asked under this id, in short. Null: not known, or asked by the daemon itself.
  ALTER TABLE journal ADD COLUMN digest TEXT;
  `,
  [
    `
  -- Whom an entry concerns besides those who read its message; see concerns.ts.
  CREATE TABLE concerns (who INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (who, seq)) STRICT, WITHOUT ROWID;
  `,
    fillConcerns,
  ],
  `
  -- The machine that it lives on. Null: the workspace lived on one machine alone.
  ALTER TABLE workers ADD COLUMN machine TEXT;
  ALTER TABLE runs ADD COLUMN machine TEXT;
  ALTER TABLE actions ADD COLUMN machine TEXT;
  ALTER TABLE invocations ADD COLUMN machine TEXT;
  `,
  `
  -- The few messages that want an answer; see core/brief.ts.
  CREATE INDEX messages_question ON messages (conversation, n) WHERE kind = 'question';
  `,
  `
  -- Null: registered before this was written. The index has the few that are shown unasked; see core/actions.ts.
  ALTER TABLE actions ADD COLUMN authority TEXT;
  CREATE INDEX actions_unasked ON actions (name) WHERE authority IN ('owner', 'key');
  `,
  `
  -- As JSON. Null: it had none, or it was removed.
  ALTER TABLE workers ADD COLUMN worktree TEXT;
  CREATE INDEX workers_worktree ON workers (id) WHERE worktree IS NOT NULL;
  `,
  `
  -- Who asked for the wish that it has now. Null: it has the one with which it was made, or it is not known.
  ALTER TABLE workers ADD COLUMN wished_by TEXT;
  `,
  `
  -- Where entries came from, in a workspace that several machines share. No other workspace has any.
  CREATE TABLE origins (seq INTEGER PRIMARY KEY, machine TEXT NOT NULL, mark TEXT NOT NULL) STRICT;
  `,
  `
  -- 1: it is in no list any more.
  ALTER TABLE agents ADD COLUMN retired INTEGER;
  `,
  `
  -- A machine of its own where the workspace lives on several, else ''.
  CREATE TABLE claims (path TEXT NOT NULL, machine TEXT NOT NULL, root TEXT NOT NULL, file TEXT NOT NULL, repository TEXT NOT NULL,
    agent TEXT NOT NULL, how TEXT NOT NULL, since INTEGER NOT NULL, edited_at INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (path, machine)) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_root ON claims (root);
  CREATE INDEX claims_file ON claims (repository, file);
  CREATE INDEX claims_agent ON claims (agent);
  CREATE INDEX claims_until ON claims (until);
  `,
  `
  -- For a workspace that several machines share; empty in every other. The homes of each name, first to last:
  CREATE TABLE homes (agent TEXT NOT NULL, epoch INTEGER NOT NULL, machine TEXT NOT NULL, PRIMARY KEY (agent, epoch)) STRICT, WITHOUT ROWID;
  -- What this machine alone has decided, each entry after that of the shared journal which it had seen last:
  CREATE TABLE local_journal (seq INTEGER PRIMARY KEY, after_seq INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL, cause TEXT NOT NULL,
    rule TEXT NOT NULL, digest TEXT, facts TEXT NOT NULL, outcome TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX local_journal_cause ON local_journal (cause, by);
  `,
  `
  -- choices: as JSON.
  CREATE TABLE approvals (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, vendor TEXT NOT NULL, tool TEXT NOT NULL,
    input TEXT NOT NULL, is_exact INTEGER NOT NULL, directory TEXT, choices TEXT NOT NULL, digest TEXT NOT NULL, machine TEXT, at INTEGER NOT NULL,
    closed_at INTEGER, how TEXT, kind TEXT, closed_by TEXT) STRICT;
  CREATE INDEX approvals_open ON approvals (n) WHERE closed_at IS NULL;
  `,
  `
  -- How its program is spoken to. Null: in its terminal.
  ALTER TABLE workers ADD COLUMN control TEXT;
  `,
  `
  -- How many characters of what was asked are not in its input. Null: none.
  ALTER TABLE approvals ADD COLUMN hidden_chars INTEGER;
  `,
  `
  -- How it was asked for, as JSON; null: a version asked that could not do it again. What it was given again: a worker, a run.
  ALTER TABLE workers ADD COLUMN asked TEXT;
  ALTER TABLE workers ADD COLUMN again TEXT;
  ALTER TABLE runs ADD COLUMN worktree INTEGER;
  ALTER TABLE runs ADD COLUMN again TEXT;
  `,
  `
  -- day: in UTC. What is not known is ''; of the cost it is null.
  CREATE TABLE spend (agent TEXT NOT NULL, worker TEXT NOT NULL, run TEXT NOT NULL, model TEXT NOT NULL, day TEXT NOT NULL, turns INTEGER NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, cached INTEGER NOT NULL, usd_parts INTEGER,
    PRIMARY KEY (agent, worker, run, model, day)) STRICT, WITHOUT ROWID;
  CREATE INDEX spend_run ON spend (run) WHERE run <> '';
  CREATE INDEX spend_worker ON spend (worker) WHERE worker <> '';
  `,
  `
  -- What was taken out of this file, and where on this machine it lies; see pruning.ts. file: null, if it was deleted.
  CREATE TABLE prunes (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, horizon INTEGER NOT NULL, through INTEGER NOT NULL, file TEXT,
    bytes INTEGER NOT NULL, messages INTEGER NOT NULL, events INTEGER NOT NULL) STRICT;
  `,
  `
  -- Why an entry of another machine counts for nothing; null where it counts.
  ALTER TABLE origins ADD COLUMN void_for TEXT;
  CREATE INDEX origins_void ON origins (seq) WHERE void_for IS NOT NULL;
  `,
  `
  -- The entry whose body is what was asked, where the input is only its beginning; whether that is all of it; and the lines that the input lacks.
  ALTER TABLE approvals ADD COLUMN whole INTEGER;
  ALTER TABLE approvals ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE approvals ADD COLUMN hidden_lines INTEGER;
  `,
  `
  -- questions: of a choice, as JSON. mark: by which what asked is known again. given: the choice of an answer, its words and answers, as JSON.
  ALTER TABLE approvals ADD COLUMN questions TEXT;
  ALTER TABLE approvals ADD COLUMN mark TEXT;
  ALTER TABLE approvals ADD COLUMN given TEXT;
  CREATE INDEX approvals_mark ON approvals (mark, n) WHERE mark IS NOT NULL;
  `,
  'CREATE TABLE dismissals (agent TEXT NOT NULL, key TEXT NOT NULL, through INTEGER NOT NULL, PRIMARY KEY (agent, key)) STRICT, WITHOUT ROWID;',
  `
  -- agent: its id, since the name may be another one's when the message comes.
  CREATE TABLE awaited_receipts (message TEXT NOT NULL, agent TEXT NOT NULL, offered_at INTEGER, route TEXT, read_at INTEGER,
    PRIMARY KEY (message, agent)) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE outbox (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, by TEXT NOT NULL, cause TEXT NOT NULL, digest TEXT, input TEXT NOT NULL,
    UNIQUE (cause, by)) STRICT;
  `,
  `
  -- message: '' where none was named. after_n: the number of the last message between the two when it was asked.
  CREATE TABLE notices (asker TEXT NOT NULL, agent TEXT NOT NULL, occasion TEXT NOT NULL, message TEXT NOT NULL, after_n INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (asker, agent, occasion, message)) STRICT, WITHOUT ROWID;
  CREATE INDEX notices_agent ON notices (agent);
  `,
  '-- No table changes. From here on a digest may be "=", which an earlier version would take for that of another call: see store/call-digest.ts.',
  'ALTER TABLE workers ADD COLUMN conversation TEXT;',
]

/**
 * Tables that a replay of the journal empties and fills again. Not among them are the tables that it reads (`journal`, `local_journal`, `messages`, `bodies`,
 * `payloads`), and those that describe only this file (`origins`, `prunes`, `awaited_receipts`, `outbox`).
 */
export const derivedTables = [
  'meta',
  'agents',
  'homes',
  'tokens',
  'conversations',
  'members',
  'receipts',
  'reactions',
  'actions',
  'invocations',
  'workers',
  'runs',
  'claims',
  'approvals',
  'dismissals',
  'notices',
  'spend',
  'concerns',
] as const
