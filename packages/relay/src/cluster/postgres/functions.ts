// The SQL functions that machines may call; they may do nothing else in the database. The functions run with the owner's rights. So each one has a search
// path that callers cannot change, names every table with its schema, and takes the calling machine from the role that has logged in, never from an
// argument. A released function is never changed: the next form of `append_1` is called `append_2`, so that daemons of both versions work while the schema
// is migrated. STRICT: a call with a NULL does nothing.
//
// The functions rely on READ COMMITTED: each statement sees what was committed before it began, so that data read after the lock is current. At a stricter
// isolation level, taking the lock fails with 40001 if another machine has appended meanwhile.

import { entryAheadMsMax, pageEntriesMax } from '../cluster-journal.ts'

/** Maximum total size of the entries in one answer, so that a replica need not hold everything that it lacks in memory at once. */
export const pageBytesMax = 8 * 1024 * 1024

/** Maximum number of drafts in an append. A daemon sends at most 256; this limit is for calls that a person makes by hand. */
export const draftsMax = 1_000

/**
 * Settings that force the use of indexes; every query in this file has an index. Otherwise a plan made while a table was small would scan the whole table,
 * and the connection would keep that plan: an append to a journal of 10,000 entries took four times as long as the first.
 */
const byIndex = ['seqscan', 'bitmapscan', 'sort'].map((way) => `SET enable_${way} = off`)

/** Attributes of every function that machines may execute. */
export const machineFunctionAttributes = `SECURITY DEFINER SET search_path = pg_catalog, pg_temp ${byIndex.join(' ')}`

/** The row type of all answers: the first row has the result, and the others have entries. */
const rowType = `CREATE TYPE relay.row_1 AS
  (kind text, seq bigint, at bigint, by text, cause text, machine text, mark text, entry text)`

/** Returns the machine whose role has logged in; no row if that machine never joined, or was removed. */
const self = `CREATE FUNCTION relay.self_1() RETURNS relay.machines LANGUAGE sql STABLE AS $$
  SELECT m FROM relay.machines m WHERE m.role = session_user AND m.joined_at IS NOT NULL AND m.revoked_at IS NULL
$$`

/** Returns the reason if this machine cannot follow the workspace any further; NULL if it can. */
const stopped = `CREATE FUNCTION relay.stopped_1(p_machine relay.machines, p_ws int, p_boot int, p_seq bigint, p_mark text)
RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN (p_machine).id IS NULL THEN 'revoked'
    WHEN (p_machine).boot <> p_boot THEN 'fenced'
    WHEN p_seq <> 0 AND NOT EXISTS (SELECT FROM relay.journal WHERE ws = p_ws AND seq = p_seq AND mark = p_mark) THEN 'diverged'
  END
$$`

/** Returns the entries after a number, up to a limit on their number and a limit on their total size. */
const page = `CREATE FUNCTION relay.page_1(p_ws int, p_seq bigint, p_limit int) RETURNS SETOF relay.row_1 LANGUAGE sql STABLE AS $$
  SELECT 'entry', j.seq, j.at, j.by, j.cause, m.name, j.mark, j.entry
  FROM (
    SELECT *, sum(octet_length(entry)) OVER (ORDER BY seq) - octet_length(entry) AS before
    FROM relay.journal WHERE ws = p_ws AND seq > p_seq ORDER BY seq LIMIT p_limit
  ) j JOIN relay.machines m ON m.id = j.machine
  WHERE j.before < ${pageBytesMax} ORDER BY j.seq
$$`

/** Registers the start of a daemon. An earlier daemon with the same machine identity is shut out from here on (fenced). */
const hello = `CREATE FUNCTION relay.hello_1(p_version text) RETURNS TABLE (id int, name text, boot int)
LANGUAGE sql STRICT ${machineFunctionAttributes} AS $$
  UPDATE relay.machines m SET boot = m.boot + 1, booted_at = now(), version = left(p_version, 40)
  WHERE m.id = (SELECT s.id FROM relay.self_1() s) RETURNING m.id, m.name, m.boot
$$`

/**
 * Registers a new connection of a daemon. It writes something, so that its commit waits for a synchronous standby: everything that this machine finds stored
 * afterwards, such as an entry whose answer was lost, is then on the standby too.
 */
const back = `CREATE FUNCTION relay.back_1() RETURNS void LANGUAGE sql ${machineFunctionAttributes} AS $$
  UPDATE relay.machines SET back_at = now() WHERE id = (SELECT id FROM relay.self_1())
$$`

/** Makes an invited machine a member of the cluster, if the invitation is unused and has not expired. Removed machines may be invited again. */
const join = `CREATE FUNCTION relay.join_1() RETURNS text LANGUAGE sql ${machineFunctionAttributes} AS $$
  UPDATE relay.machines SET joined_at = now(), invited_until = NULL, revoked_at = NULL
  WHERE role = session_user AND invited_until > now() RETURNING name
$$`

/** Creates the row of a workspace that is to be shared, unless it exists, and returns the row's number; NULL if another workspace has the name. */
const create = `CREATE FUNCTION relay.create_1(p_id text, p_name text) RETURNS int LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
BEGIN
  IF (relay.self_1()).id IS NULL THEN RETURN NULL; END IF;
  INSERT INTO relay.workspaces (id, name) VALUES (p_id, p_name) ON CONFLICT DO NOTHING;
  RETURN (SELECT ws FROM relay.workspaces WHERE id = p_id AND name = p_name);
END $$`

const list = `CREATE FUNCTION relay.list_1() RETURNS TABLE (ws int, id text, name text, format int, head bigint)
LANGUAGE sql STABLE ${machineFunctionAttributes} AS $$
  SELECT w.ws, w.id, w.name, w.format, w.head FROM relay.workspaces w WHERE (relay.self_1()).id IS NOT NULL ORDER BY w.ws
$$`

const follow = `CREATE FUNCTION relay.follow_1(p_workspace text, p_boot int, p_seq bigint, p_mark text, p_limit int)
RETURNS SETOF relay.row_1 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE w relay.workspaces; v_stopped text;
BEGIN
  SELECT * INTO STRICT w FROM relay.workspaces WHERE id = p_workspace;
  v_stopped := relay.stopped_1(relay.self_1(), w.ws, p_boot, p_seq, p_mark);
  RETURN NEXT ROW(coalesce(v_stopped, 'entries'), w.head, NULL, NULL, NULL, NULL, NULL, NULL)::relay.row_1;
  IF v_stopped IS NULL THEN
    RETURN QUERY SELECT * FROM relay.page_1(w.ws, p_seq, least(p_limit, ${pageEntriesMax}));
  END IF;
END $$`

/** Returns entries like `follow_1`, and locks the workspace's row, so that no other machine can append before this transaction ends. */
const turn = `CREATE FUNCTION relay.turn_1(p_workspace text, p_boot int, p_seq bigint, p_mark text)
RETURNS SETOF relay.row_1 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
BEGIN
  IF (relay.self_1()).id IS NOT NULL THEN PERFORM FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE; END IF;
  RETURN QUERY SELECT * FROM relay.follow_1(p_workspace, p_boot, p_seq, p_mark, ${pageEntriesMax});
END $$`

const payload = `CREATE FUNCTION relay.payload_1(p_workspace text, p_seq bigint) RETURNS bytea LANGUAGE sql STABLE STRICT ${machineFunctionAttributes} AS $$
  SELECT j.payload FROM relay.journal j JOIN relay.workspaces w ON w.ws = j.ws
  WHERE w.id = p_workspace AND j.seq = p_seq AND (relay.self_1()).id IS NOT NULL
$$`

/**
 * Says why an append must not be stored, apart from the machine's own state: NULL, 'behind' (the replica lacks entries), or 'denied' with an agent whose
 * home is another machine.
 */
const objection = `CREATE FUNCTION relay.objection_1(w relay.workspaces, p_machine int, p_seq bigint, p_reads json, p_homes json, p_drafts json,
  OUT kind text, OUT agent text) LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF w.head > p_seq THEN
    kind := CASE
      WHEN w.head > (SELECT max(seq) FROM relay.page_1(w.ws, p_seq, ${pageEntriesMax})) THEN 'behind'
      WHEN json_typeof(p_reads) = 'array' THEN (SELECT 'behind' FROM relay.keys k
        WHERE k.ws = w.ws AND k.key = ANY (ARRAY(SELECT json_array_elements_text(p_reads))) AND k.seq > p_seq LIMIT 1)
      WHEN p_reads #>> '{}' = 'all' AND w.decided > p_seq THEN 'behind'
    END;
    IF kind IS NOT NULL THEN RETURN; END IF;
  END IF;
  -- Each is looked up by itself, which a LIMIT and a subquery ask for: a join may be planned as a walk through all of the journal.
  IF EXISTS (SELECT FROM json_to_recordset(p_drafts) AS d(by text, cause text),
    LATERAL (SELECT 1 FROM relay.journal j WHERE j.ws = w.ws AND j.cause = d.cause AND j.by = d.by LIMIT 1) found) THEN kind := 'behind'; RETURN; END IF;
  -- A home counts its moves, so that two that are made at once do not both hold.
  IF EXISTS (SELECT FROM json_to_recordset(p_homes) AS m(agent text, epoch int) WHERE m.epoch IS DISTINCT FROM
    coalesce((SELECT h.epoch FROM relay.homes h WHERE h.ws = w.ws AND h.agent = m.agent), 0) + 1) THEN kind := 'behind'; RETURN; END IF;
  -- A machine takes a home to itself, or gives one of its own away, to a machine that there is. The daemons' own name has none.
  SELECT m.agent INTO agent FROM json_to_recordset(p_homes) AS m(agent text, machine text)
    LEFT JOIN relay.machines t ON t.name = m.machine WHERE m.agent = 'agent-relay' OR t.id IS NULL OR (t.id <> p_machine AND
      (SELECT h.machine FROM relay.homes h WHERE h.ws = w.ws AND h.agent = m.agent) IS DISTINCT FROM p_machine) LIMIT 1;
  IF agent IS NULL THEN
    SELECT d.by INTO agent FROM json_to_recordset(p_drafts) AS d(by text)
      WHERE (SELECT h.machine FROM relay.homes h WHERE h.ws = w.ws AND h.agent = d.by) <> p_machine
      AND NOT EXISTS (SELECT FROM json_to_recordset(p_homes) AS m(agent text, machine text)
        JOIN relay.machines t ON t.name = m.machine WHERE m.agent = d.by AND t.id = p_machine) LIMIT 1;
  END IF;
  IF agent IS NOT NULL THEN kind := 'denied'; END IF;
END $$`

/** Stores drafts after the last entry. The caller has locked the workspace's row. Returns the times of the new entries, in order. */
const store = `CREATE FUNCTION relay.store_1(w relay.workspaces, p_machine int, p_stem text, p_note boolean, p_writes json, p_homes json,
  p_drafts json, p_entries json, p_payloads json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_ats text; v_at bigint; v_head bigint;
  v_latest bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${entryAheadMsMax};
BEGIN
  WITH stored AS (
    INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry, payload)
    SELECT w.ws, w.head + d.i, greatest(w.at, max(least(d.at, v_latest)) OVER (ORDER BY d.i)), d.by, d.cause, p_machine,
      p_stem || '.' || d.i, d.entry, decode(d.payload, 'base64')
    FROM ROWS FROM (json_to_recordset(p_drafts) AS (at bigint, by text, cause text), json_array_elements_text(p_entries),
      json_array_elements_text(p_payloads)) WITH ORDINALITY AS d(at, by, cause, entry, payload, i)
    RETURNING seq, at
  ) SELECT string_agg(at::text, ',' ORDER BY seq), max(at), max(seq) INTO v_ats, v_at, v_head FROM stored;
  UPDATE relay.workspaces SET head = v_head, at = v_at, decided = CASE WHEN p_note THEN decided ELSE v_head END WHERE ws = w.ws;
  INSERT INTO relay.keys (ws, key, seq) SELECT DISTINCT w.ws, k, v_head FROM json_array_elements_text(p_writes) k
    ON CONFLICT (ws, key) DO UPDATE SET seq = excluded.seq;
  INSERT INTO relay.homes (ws, agent, machine, epoch) SELECT w.ws, m.agent, t.id, m.epoch
    FROM json_to_recordset(p_homes) AS m(agent text, machine text, epoch int) JOIN relay.machines t ON t.name = m.machine
    ON CONFLICT (ws, agent) DO UPDATE SET machine = excluded.machine, epoch = excluded.epoch;
  PERFORM pg_notify('relay_' || w.ws, v_head || ' ' || p_machine);
  RETURN v_ats;
END $$`

/** Stores all drafts or none, in one statement. It holds the lock until the commit, so that numbers follow the order of commits and have no gaps. */
const append = makeAppendSql('')

/** Makes the SQL of `append_1`. `refusal`: an SQL statement that runs after the workspace was found and locked, and may raise an error. */
export function makeAppendSql(refusal: string): string {
  return `CREATE OR REPLACE FUNCTION relay.append_1(p_workspace text, p_boot int, p_seq bigint, p_mark text, p_reads json, p_writes json, p_homes json,
  p_drafts json, p_entries json, p_payloads json) RETURNS SETOF relay.row_1 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE w relay.workspaces; m relay.machines := relay.self_1(); v_kind text; v_agent text; v_ats text;
  v_stem text := left(replace(gen_random_uuid()::text, '-', ''), 16);
BEGIN
  IF json_array_length(p_drafts) > ${draftsMax} THEN RAISE 'more than ${draftsMax} entries' USING ERRCODE = 'program_limit_exceeded'; END IF;
  -- Whoever is not of the workspace must not be able to hold it up.
  IF m.id IS NOT NULL THEN PERFORM FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE; m := relay.self_1(); END IF;
  SELECT * INTO STRICT w FROM relay.workspaces WHERE id = p_workspace;
  ${refusal}
  v_kind := relay.stopped_1(m, w.ws, p_boot, p_seq, p_mark);
  IF v_kind IS NULL THEN
    SELECT kind, agent INTO v_kind, v_agent FROM relay.objection_1(w, m.id, p_seq, p_reads, p_homes, p_drafts);
    IF v_kind IS NULL AND json_array_length(p_drafts) > 0 THEN
      v_ats := relay.store_1(w, m.id, v_stem, coalesce(p_reads #>> '{}' = 'none', false), p_writes, p_homes, p_drafts, p_entries, p_payloads);
    END IF;
  END IF;
  RETURN NEXT ROW(coalesce(v_kind, 'ok'), w.head, NULL, v_agent, NULL, NULL, v_stem, v_ats)::relay.row_1;
  IF w.head > p_seq AND coalesce(v_kind, 'ok') IN ('ok', 'behind', 'denied') THEN
    RETURN QUERY SELECT * FROM relay.page_1(w.ws, p_seq, ${pageEntriesMax}) p WHERE p.seq <= w.head;
  END IF;
END $$`
}

/** Functions that only the other functions call: machines may not execute them. */
const inner = [self, stopped, page, objection, store]

const forMachines = [hello, back, join, create, list, follow, turn, payload, append]

/** The first form of all types and functions, in the order in which they have to be created. */
export const functionsOfStep1 = [rowType, ...inner, ...forMachines]

/** Names of the functions that the role of machines may execute. */
export const grantsOfStep1 = forMachines.map(sqlFunctionName)

export function sqlFunctionName(sql: string): string {
  return (/FUNCTION (relay\.\w+)/.exec(sql) as RegExpExecArray)[1] as string
}
