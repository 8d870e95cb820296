// The SQL functions of cluster/presence.ts and questions.ts: which agents are connected on which machine, and questions between machines. Like those in
// functions.ts they are never changed once released. PostgreSQL empties their tables after a crash of the server, and each daemon then reports its presence
// again.

import { machineFunctionAttributes } from './functions.ts'

export const presenceTables = [
  `CREATE UNLOGGED TABLE relay.presence (
    ws int NOT NULL, machine int NOT NULL, seen_at timestamptz NOT NULL, stamp bigint NOT NULL,
    agents text NOT NULL CHECK (length(agents) <= 4000000), PRIMARY KEY (ws, machine)) WITH (fillfactor = 30)`,
  `CREATE UNLOGGED TABLE relay.asks (
    id text PRIMARY KEY CHECK (length(id) <= 100), ws int NOT NULL, from_machine int NOT NULL, to_machine int NOT NULL,
    input text NOT NULL CHECK (length(input) <= 100000), answer text CHECK (length(answer) <= 100000), until timestamptz NOT NULL)`,
]

/** Maximum time, in microseconds, by which a stamp may become visible after a newer one: stamps are set before the commit. */
export const lateStampsMax = 10_000_000

/**
 * Stores this machine's presence. Returns the presence of the other machines, and which machines were removed. In both directions, '' stands for unchanged
 * agents.
 */
const present = `CREATE FUNCTION relay.present_1(p_boot int, p_stamp bigint, p_rows json)
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
  RETURN QUERY SELECT w.id, o.name, (extract(epoch FROM clock_timestamp() - p.seen_at) * 1000)::bigint, p.stamp,
      CASE WHEN p.stamp > p_stamp - ${lateStampsMax} THEN p.agents ELSE '' END, false
    FROM json_to_recordset(p_rows) AS r(workspace text) JOIN relay.workspaces w ON w.id = r.workspace
    JOIN relay.presence p ON p.ws = w.ws AND p.machine <> m.id JOIN relay.machines o ON o.id = p.machine AND o.revoked_at IS NULL
    UNION ALL SELECT r.workspace, o.name, 0, 0, '', true
    FROM json_to_recordset(p_rows) AS r(workspace text), relay.machines o WHERE o.revoked_at IS NOT NULL;
END $$`

/** Stores a question to another machine. Returns false if there is no such machine, or if it is the asking machine itself. */
const ask = `CREATE FUNCTION relay.ask_1(p_boot int, p_workspace text, p_id text, p_machine text, p_input text, p_ms int) RETURNS boolean
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); v_to int := (SELECT id FROM relay.machines WHERE name = p_machine AND revoked_at IS NULL);
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL OR v_to IS NULL OR v_to = m.id THEN RETURN false; END IF;
  DELETE FROM relay.asks WHERE until < now();
  INSERT INTO relay.asks (id, ws, from_machine, to_machine, input, until) SELECT p_id, w.ws, m.id, v_to, p_input,
    now() + least(p_ms, 60000) * interval '1 millisecond' FROM relay.workspaces w WHERE w.id = p_workspace;
  PERFORM pg_notify('relay_machine_' || v_to, '');
  RETURN FOUND;
END $$`

/** Returns the open questions to this machine that it has not answered yet. */
const asked = `CREATE FUNCTION relay.asked_1(p_boot int) RETURNS TABLE (id text, workspace text, machine text, input text)
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1();
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN; END IF;
  RETURN QUERY SELECT a.id, w.id, o.name, a.input FROM relay.asks a JOIN relay.workspaces w ON w.ws = a.ws
    JOIN relay.machines o ON o.id = a.from_machine WHERE a.to_machine = m.id AND a.answer IS NULL AND a.until > now();
END $$`

const answer = `CREATE FUNCTION relay.answer_1(p_boot int, p_id text, p_answer text) RETURNS void LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); v_from int;
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN; END IF;
  UPDATE relay.asks SET answer = p_answer WHERE id = p_id AND to_machine = m.id RETURNING from_machine INTO v_from;
  IF v_from IS NOT NULL THEN PERFORM pg_notify('relay_machine_' || v_from, ''); END IF;
END $$`

/** Returns the answer to a question of this machine; NULL if there is none yet. */
const answered = `CREATE FUNCTION relay.answered_1(p_id text) RETURNS text LANGUAGE sql STRICT ${machineFunctionAttributes} AS $$
  SELECT answer FROM relay.asks WHERE id = p_id AND from_machine = (SELECT id FROM relay.self_1())
$$`

export const presenceFunctions = [present, ask, asked, answer, answered]
