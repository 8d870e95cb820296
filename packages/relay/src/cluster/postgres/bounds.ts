// Later versions of SQL functions in presence-functions.ts and pruning.ts, which limit how much one machine may ask of the others. Text beyond the limits is
// left out, so that no other machine waits for it or reads it.

import { pageEntriesMax } from '../cluster-journal.ts'
import { machineFunctionAttributes } from './functions.ts'
import { lateStampsMax } from './presence-functions.ts'

/**
 * Limits on questions between machines: number of open questions of one asking machine, number of an asking machine's questions that one call returns, and
 * number of all questions that one call returns.
 */
const [openAsksMax, shownAsksOfOneMax, shownAsksMax] = [100, 20, 100]
/** Maximum number of characters in an answer about presence. The longest lists of agents are left out: their machines appear unchanged. */
const presenceCharsMax = 4_000_000

/**
 * Stores a question to another machine. Returns false if there is no such machine, if it is the asking machine itself, or if the asking machine has too many
 * open questions. The asking machine's row is locked, so that questions over several of its connections are counted correctly.
 */
const ask = `CREATE OR REPLACE FUNCTION relay.ask_1(p_boot int, p_workspace text, p_id text, p_machine text, p_input text, p_ms int) RETURNS boolean
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); v_to int := (SELECT id FROM relay.machines WHERE name = p_machine AND revoked_at IS NULL);
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL OR v_to IS NULL OR v_to = m.id THEN RETURN false; END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN RETURN false; END IF;
  PERFORM FROM relay.machines WHERE id = m.id FOR NO KEY UPDATE;
  DELETE FROM relay.asks WHERE id IN (SELECT a.id FROM relay.asks a WHERE a.until < now() FOR UPDATE SKIP LOCKED);
  IF (SELECT count(*) FROM relay.asks WHERE from_machine = m.id AND until > now()) >= ${openAsksMax} THEN RETURN false; END IF;
  INSERT INTO relay.asks (id, ws, from_machine, to_machine, input, until) SELECT p_id, w.ws, m.id, v_to, p_input,
    now() + least(p_ms, 60000) * interval '1 millisecond' FROM relay.workspaces w WHERE w.id = p_workspace;
  PERFORM pg_notify('relay_machine_' || v_to, '');
  RETURN FOUND;
END $$`

/** Returns open questions to this machine, the oldest of each asking machine first. Leaves out what exceeds the limits above. */
const asked = `CREATE OR REPLACE FUNCTION relay.asked_1(p_boot int) RETURNS TABLE (id text, workspace text, machine text, input text)
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1();
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN; END IF;
  RETURN QUERY SELECT a.id, w.id, o.name, a.input
    FROM (SELECT *, row_number() OVER (PARTITION BY from_machine ORDER BY until, asks.id) AS place FROM relay.asks
      WHERE to_machine = m.id AND answer IS NULL AND until > now()) a
    JOIN relay.workspaces w ON w.ws = a.ws JOIN relay.machines o ON o.id = a.from_machine
    WHERE a.place <= ${shownAsksOfOneMax} ORDER BY a.place LIMIT ${shownAsksMax};
END $$`

const present = `CREATE OR REPLACE FUNCTION relay.present_1(p_boot int, p_stamp bigint, p_rows json)
RETURNS TABLE (workspace text, machine text, seen_ms bigint, stamp bigint, agents text, removed boolean) LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); v_stamp bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN; END IF;
  INSERT INTO relay.presence AS p (ws, machine, seen_at, stamp, agents)
    SELECT w.ws, m.id, clock_timestamp(), v_stamp, r.agents FROM json_to_recordset(p_rows) AS r(workspace text, agents text)
    JOIN relay.workspaces w ON w.id = r.workspace
    ON CONFLICT ON CONSTRAINT presence_pkey DO UPDATE SET seen_at = excluded.seen_at,
      stamp = CASE WHEN excluded.agents = '' THEN p.stamp ELSE excluded.stamp END,
      agents = CASE WHEN excluded.agents = '' THEN p.agents ELSE excluded.agents END;
  IF EXISTS (SELECT FROM json_to_recordset(p_rows) AS r(agents text) WHERE r.agents <> '') THEN PERFORM pg_notify('relay_presence', m.id::text); END IF;
  RETURN QUERY SELECT t.id, t.name, t.seen_ms, t.stamp,
      CASE WHEN sum(length(t.agents)) OVER (ORDER BY length(t.agents), t.name, t.id) <= ${presenceCharsMax} THEN t.agents ELSE '' END, false
    FROM (SELECT w.id, o.name, (extract(epoch FROM clock_timestamp() - p.seen_at) * 1000)::bigint AS seen_ms, p.stamp,
        CASE WHEN p.stamp > p_stamp - ${lateStampsMax} THEN p.agents ELSE '' END AS agents
      FROM json_to_recordset(p_rows) AS r(workspace text) JOIN relay.workspaces w ON w.id = r.workspace
      JOIN relay.presence p ON p.ws = w.ws AND p.machine <> m.id JOIN relay.machines o ON o.id = p.machine AND o.revoked_at IS NULL) t
    UNION ALL SELECT r.workspace, o.name, 0, 0, '', true
    FROM json_to_recordset(p_rows) AS r(workspace text), relay.machines o WHERE o.revoked_at IS NOT NULL;
END $$`

/**
 * Deletes old conflict keys while the workspace's row is locked: appends have to wait for that lock first, so that an append never waits for single keys.
 */
const prune = `CREATE OR REPLACE FUNCTION relay.prune_1(p_boot int, p_workspace text) RETURNS bigint LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE v_count bigint;
BEGIN
  IF relay.stopped_1(relay.self_1(), 0, p_boot, 0, '') IS NOT NULL THEN RETURN 0; END IF;
  PERFORM FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE;
  DELETE FROM relay.keys k USING relay.workspaces w WHERE w.id = p_workspace AND k.ws = w.ws AND k.seq < w.head - ${pageEntriesMax};
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$`

export const boundedFunctions = [ask, asked, present, prune]
