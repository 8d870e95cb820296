// The statements with which evolve.ts writes rows.

/** Number of lasting tokens that an agent keeps, and likewise of tokens that last a day; older ones stop working. */
const tokensMax = 16

export const statements = {
  meta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',
  metaGone: 'DELETE FROM meta WHERE name = ?',
  agent:
    'INSERT INTO agents (key, name, id, type, cli, model, parent, handle, role) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  agentUpdate: 'UPDATE agents SET cli = ?, model = ?, parent = ?, handle = ?, role = ? WHERE key = ?',
  retired: 'UPDATE agents SET name = ?, handle = NULL, retired = 1 WHERE key = ?',
  token: 'INSERT OR REPLACE INTO tokens (hash, agent, seq, until) VALUES (?, ?, ?, ?)',
  tokenPrune: `DELETE FROM tokens WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) AND seq <= (SELECT seq FROM tokens
    WHERE agent = ?1 AND (until IS NULL) = (?2 IS NULL) ORDER BY seq DESC LIMIT 1 OFFSET ${tokensMax})`,
  tokensRevoked: 'DELETE FROM tokens WHERE agent = ?',
  tokensForgotten: 'DELETE FROM tokens',
  conversation: 'INSERT INTO conversations (name) VALUES (?) RETURNING key',
  // A removed conversation keeps its row, under a name that none can have, or its key would name the next one that is opened.
  removed: "UPDATE conversations SET name = '-' || key WHERE key = ?",
  staysRemoved: 'DELETE FROM members WHERE conversation = ?',
  stay: 'INSERT OR IGNORE INTO members (agent, conversation, joined_n, cursor) VALUES (?1, ?2, ?3, ?3)',
  // An agent that leaves and enters at the same number goes on with its old stay.
  restay: 'UPDATE members SET left_n = NULL WHERE agent = ? AND conversation = ? AND joined_n = ?',
  left: 'UPDATE members SET left_n = ? WHERE agent = ? AND conversation = ? AND left_n IS NULL',
  message:
    'INSERT INTO messages (seq, id, at, conversation, n, sender, kind, thread, reply_to, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  placeOf: 'SELECT seq, conversation FROM messages WHERE id = ?',
  // The statement looks up the message's number itself: a page of fifty would otherwise cost fifty more statements.
  offered: `INSERT INTO receipts (message, agent, offered_at, route, session, until)
    SELECT seq, ?, ?, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET offered_at = excluded.offered_at, route = excluded.route, session = excluded.session, until = excluded.until`,
  held: `INSERT INTO receipts (message, agent, session, until) SELECT seq, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET route = NULL, session = excluded.session, until = excluded.until`,
  released: `UPDATE receipts SET session = NULL, until = NULL WHERE agent = ?
    AND message = (SELECT seq FROM messages WHERE id = ?)`,
  read: 'INSERT INTO receipts (message, agent, read_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET read_at = ?3',
  // Moves the cursor to just before the first message that is neither the agent's own nor read.
  advance: `UPDATE members SET cursor = coalesce((SELECT m.n - 1 FROM messages m
      LEFT JOIN receipts r ON r.message = m.seq AND r.agent = members.agent
      WHERE m.conversation = members.conversation AND m.n > members.cursor AND m.n <= coalesce(members.left_n, ?1)
        AND m.sender <> ?2 AND r.read_at IS NULL ORDER BY m.n LIMIT 1), min(coalesce(left_n, ?1), ?1))
    WHERE agent = ?3 AND conversation = ?4 AND cursor < min(coalesce(left_n, ?1), ?1)`,
  reacted: 'INSERT OR IGNORE INTO reactions (message, agent, emoji, at, seq) VALUES (?, ?, ?, ?, ?)',
  unreacted: 'DELETE FROM reactions WHERE message = ? AND agent = ? AND emoji = ?',
  body: 'INSERT INTO bodies (seq, body) VALUES (?, ?)',
  action: `INSERT OR REPLACE INTO actions (name, tool, provider, session, description, input_schema, output_schema, available_to, timeout_ms, machine, authority)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  withdrawn: 'DELETE FROM actions WHERE name = ?',
  invoked:
    'INSERT INTO invocations (id, action, caller, provider, session, at, until, machine, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  worker: `INSERT INTO workers (id, name, parent, cli, command, args, model, cwd, is_injected, machine, worktree, control, asked, again, wish, status, at, changed_at, task)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'run', 'wished', ?, ?, ?)`,
  workerWish: 'UPDATE workers SET wish = ?, wished_by = ? WHERE id = ?',
  workerChanged:
    'UPDATE workers SET status = ?, pid = coalesce(?, pid), code = ?, reason = ?, control = coalesce(?, control), changed_at = ?, screen = ? WHERE id = ?',
  payload: 'INSERT INTO payloads (seq, gzip) VALUES (?, ?)',
  runStarted: `INSERT INTO runs (id, agent, parent, harness, model, cwd, machine, worktree, again, status, started_at, contract)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)`,
  runCompleted: `UPDATE runs SET status = 'completed', ended_at = ?, summary = ?, payload_bytes = ?, payload = ? WHERE id = ?`,
  runStopped: `UPDATE runs SET status = 'stopped', ended_at = ?, reason = ? WHERE id = ?`,
  completed: 'UPDATE invocations SET ok = ?, code = ?, message = ?, output = ?, duration_ms = ? WHERE id = ?',
}

/** Statements that most workspaces never need. */
export const rareStatements = {
  // Where machines share the workspace the later time counts, whichever clock told it: see noted-receipts.ts.
  offeredAtHome: `INSERT INTO receipts (message, agent, offered_at, route, session, until)
    SELECT seq, ?, ?, ?, ?, ? FROM messages WHERE id = ?
    ON CONFLICT DO UPDATE SET offered_at = max(coalesce(offered_at, 0), excluded.offered_at), route = excluded.route,
      session = excluded.session, until = excluded.until`,
  home: 'INSERT INTO homes (agent, epoch, machine) VALUES (?, ?, ?)',
  worktreeRemoved: 'UPDATE workers SET worktree = NULL WHERE id = ?',
  workersRestored: 'UPDATE workers SET machine = ?, worktree = NULL',
  runsRestored: 'UPDATE runs SET machine = ?',
  approval: `INSERT INTO approvals (n, id, agent, vendor, tool, input, is_exact, directory, choices, digest, machine, at, hidden_chars,
    hidden_lines, whole, is_whole, questions, mark)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT seq FROM bodies WHERE seq = ?), ?, ?, ?)`,
  approvalClosed:
    'UPDATE approvals SET closed_at = ?, how = ?, kind = ?, closed_by = ?, given = ? WHERE id = ? AND closed_at IS NULL',
  // Two sessions may dismiss a need after different messages: the later one counts.
  dismissed:
    'INSERT INTO dismissals VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET through = max(through, excluded.through)',
  noticeAsked: 'INSERT OR REPLACE INTO notices VALUES (?, ?, ?, ?, ?, ?)',
  noticeEnded: 'DELETE FROM notices WHERE asker = ? AND agent = ? AND occasion = ? AND message = ?',
  spent: `INSERT INTO spend (agent, worker, run, model, day, turns, input, output, cached, usd_parts) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET turns = turns + 1, input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached,
      usd_parts = coalesce(usd_parts + excluded.usd_parts, usd_parts, excluded.usd_parts)`,
  claimsOver: 'DELETE FROM claims WHERE until <= ?',
  claimed: 'INSERT OR REPLACE INTO claims VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9)',
  claimRenewed: 'UPDATE claims SET edited_at = ?, until = ? WHERE path = ? AND machine = ?',
  claimEnded: 'DELETE FROM claims WHERE path = ? AND machine = ?',
}
