// The second form of the SQL functions that fetch and append entries, for workspaces of format 2 and later, whose entries every machine checks. The database
// trusts only the role that has logged in. It stores the conflict keys of an entry with the entry, so that machines can check them. It does not store the
// homes of agents, because a machine could lie about them. It does not hand out entries that are too long for machines to read.

import { entryAheadMsMax, entryBytesMax, pageEntriesMax } from '../cluster-journal.ts'
import { draftsMax, machineFunctionAttributes, makeAppendSql, pageBytesMax } from './functions.ts'

/** Maximum size of a payload in the database. A run's payload is at most half as large. */
const payloadBytesMax = 16 * 1024 * 1024
/** Maximum size of one entry's list of conflict keys. The longest lists come from claims of some hundred files at once. */
const writesBytesMax = 256 * 1024
/** Maximum size of the fields of an append that the database reads: authors, times and keys, without the text of its entries. */
const headsBytesMax = 8 * 1024 * 1024

const column = `ALTER TABLE relay.journal ADD COLUMN writes text CHECK (octet_length(writes) <= ${writesBytesMax}),
  ADD CONSTRAINT journal_entry_bytes CHECK (octet_length(entry) <= ${entryBytesMax}) NOT VALID,
  ADD CONSTRAINT journal_payload_bytes CHECK (octet_length(payload) <= ${payloadBytesMax}) NOT VALID`

/**
 * The index finds entries of a command that the appending machine has not seen. It is not unique, because several machines may write an entry under one
 * command id, and machines decide which one counts.
 */
const causes = ['DROP INDEX relay.journal_cause', 'CREATE INDEX journal_cause ON relay.journal (ws, cause, by)']

const rowType = `CREATE TYPE relay.row_2 AS
  (kind text, seq bigint, at bigint, by text, cause text, machine text, mark text, entry text, writes text)`

const page = `CREATE FUNCTION relay.page_2(p_ws int, p_seq bigint, p_limit int) RETURNS SETOF relay.row_2 LANGUAGE sql STABLE AS $$
  SELECT 'entry', j.seq, j.at, j.by, j.cause, m.name, j.mark, CASE WHEN octet_length(j.entry) > ${entryBytesMax} THEN '' ELSE j.entry END, j.writes
  FROM (
    SELECT *, sum(least(octet_length(entry), ${entryBytesMax}) + coalesce(octet_length(writes), 0)) OVER (ORDER BY seq)
      - least(octet_length(entry), ${entryBytesMax}) AS before
    FROM relay.journal WHERE ws = p_ws AND seq > p_seq ORDER BY seq LIMIT p_limit
  ) j JOIN relay.machines m ON m.id = j.machine
  WHERE j.before < ${pageBytesMax} ORDER BY j.seq
$$`

const follow = `CREATE FUNCTION relay.follow_2(p_workspace text, p_boot int, p_seq bigint, p_mark text, p_limit int)
RETURNS SETOF relay.row_2 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE w relay.workspaces; v_stopped text;
BEGIN
  SELECT * INTO STRICT w FROM relay.workspaces WHERE id = p_workspace;
  v_stopped := relay.stopped_1(relay.self_1(), w.ws, p_boot, p_seq, p_mark);
  RETURN NEXT ROW(coalesce(v_stopped, 'entries'), w.head, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::relay.row_2;
  IF v_stopped IS NULL THEN
    RETURN QUERY SELECT * FROM relay.page_2(w.ws, p_seq, least(p_limit, ${pageEntriesMax}));
  END IF;
END $$`

/** Returns entries like `follow_2`, and locks the workspace's row, so that no other machine can append before this transaction ends. */
const turn = `CREATE FUNCTION relay.turn_2(p_workspace text, p_boot int, p_seq bigint, p_mark text)
RETURNS SETOF relay.row_2 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
BEGIN
  IF (relay.self_1()).id IS NOT NULL THEN PERFORM FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE; END IF;
  RETURN QUERY SELECT * FROM relay.follow_2(p_workspace, p_boot, p_seq, p_mark, ${pageEntriesMax});
END $$`

/** Whether the machine that appends has to fetch more entries first. The database does not look at entries that the machine has already seen and checked. */
const isBehind = `CREATE FUNCTION relay.is_behind_2(w relay.workspaces, p_seq bigint, p_reads json, p_drafts json) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF w.head <= p_seq THEN RETURN false; END IF;
  IF w.head > (SELECT max(seq) FROM relay.page_2(w.ws, p_seq, ${pageEntriesMax})) THEN RETURN true; END IF;
  IF json_typeof(p_reads) = 'array' AND EXISTS (SELECT FROM relay.keys k
    WHERE k.ws = w.ws AND k.key = ANY (ARRAY(SELECT json_array_elements_text(p_reads))) AND k.seq > p_seq) THEN RETURN true; END IF;
  IF p_reads #>> '{}' = 'all' AND w.decided > p_seq THEN RETURN true; END IF;
  -- Each is looked up by itself, which a LIMIT and a subquery ask for: a join may be planned as a walk through all of the journal.
  RETURN EXISTS (SELECT FROM json_to_recordset(p_drafts) AS d(by text, cause text), LATERAL (SELECT 1 FROM relay.journal j
    WHERE j.ws = w.ws AND j.cause = d.cause AND j.by = d.by AND j.seq > p_seq LIMIT 1) found);
END $$`

/** Stores drafts after the last entry. The caller has locked the workspace's row. Returns the times of the new entries, in order. */
const store = `CREATE FUNCTION relay.store_2(w relay.workspaces, p_machine int, p_stem text, p_drafts json, p_entries json, p_payloads json)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_ats text; v_at bigint; v_head bigint; v_decides boolean;
  v_latest bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${entryAheadMsMax};
BEGIN
  WITH stored AS (
    INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry, payload, writes)
    SELECT w.ws, w.head + d.i, greatest(w.at, max(least(d.at, v_latest)) OVER (ORDER BY d.i)), d.by, d.cause, p_machine,
      p_stem || '.' || d.i, d.entry, decode(d.payload, 'base64'), coalesce(d.writes::text, '[]')
    FROM ROWS FROM (json_to_recordset(p_drafts) AS (at bigint, by text, cause text, writes json), json_array_elements_text(p_entries),
      json_array_elements_text(p_payloads)) WITH ORDINALITY AS d(at, by, cause, writes, entry, payload, i)
    RETURNING seq, at
  ) SELECT string_agg(at::text, ',' ORDER BY seq), max(at), max(seq) INTO v_ats, v_at, v_head FROM stored;
  v_decides := EXISTS (SELECT FROM json_to_recordset(p_drafts) AS d(writes json) WHERE coalesce(d.writes #>> '{}', '') <> 'note');
  UPDATE relay.workspaces SET head = v_head, at = v_at, decided = CASE WHEN v_decides THEN v_head ELSE decided END WHERE ws = w.ws;
  INSERT INTO relay.keys (ws, key, seq) SELECT DISTINCT w.ws, k, v_head FROM json_to_recordset(p_drafts) AS d(writes json),
    json_array_elements_text(CASE WHEN json_typeof(d.writes) = 'array' THEN d.writes ELSE '[]' END) k
    ON CONFLICT (ws, key) DO UPDATE SET seq = excluded.seq;
  PERFORM pg_notify('relay_' || w.ws, v_head || ' ' || p_machine);
  RETURN v_ats;
END $$`

/**
 * SQL that calls `append_1` for workspaces of format 1. There the database keeps the homes of agents, and must be told which append only reports deliveries.
 */
const former = `SELECT a.kind, a.seq, a.at, a.by, a.cause, a.machine, a.mark, a.entry, NULL FROM relay.append_1(p_workspace, p_boot, p_seq, p_mark,
    CASE WHEN (SELECT bool_and(d.writes #>> '{}' = 'note') FROM json_to_recordset(p_drafts) AS d(writes json)) THEN '"none"' ELSE p_reads END,
    (SELECT coalesce(json_agg(k), '[]') FROM json_to_recordset(p_drafts) AS d(writes json),
      json_array_elements_text(CASE WHEN json_typeof(d.writes) = 'array' THEN d.writes ELSE '[]' END) k),
    p_homes, p_drafts, p_entries, p_payloads) a`

/** Stores all drafts or none, in one statement. It holds the lock until the commit, so that numbers follow the order of commits and have no gaps. */
const append = `CREATE FUNCTION relay.append_2(p_workspace text, p_boot int, p_seq bigint, p_mark text, p_reads json, p_homes json,
  p_drafts json, p_entries json, p_payloads json) RETURNS SETOF relay.row_2 LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE w relay.workspaces; m relay.machines := relay.self_1(); v_kind text; v_ats text;
  v_stem text := left(replace(gen_random_uuid()::text, '-', ''), 16);
BEGIN
  IF json_array_length(p_drafts) > ${draftsMax} OR octet_length(p_drafts::text) > ${headsBytesMax} THEN
    RAISE 'more entries than one append may have' USING ERRCODE = 'program_limit_exceeded';
  END IF;
  -- Whoever is not of the workspace must not be able to hold it up.
  IF m.id IS NOT NULL THEN PERFORM FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE; m := relay.self_1(); END IF;
  SELECT * INTO STRICT w FROM relay.workspaces WHERE id = p_workspace;
  IF w.format < 2 THEN RETURN QUERY ${former}; RETURN; END IF;
  v_kind := relay.stopped_1(m, w.ws, p_boot, p_seq, p_mark);
  IF v_kind IS NULL AND relay.is_behind_2(w, p_seq, p_reads, p_drafts) THEN v_kind := 'behind'; END IF;
  IF v_kind IS NULL AND json_array_length(p_drafts) > 0 THEN
    v_ats := relay.store_2(w, m.id, v_stem, p_drafts, p_entries, p_payloads);
  END IF;
  RETURN NEXT ROW(coalesce(v_kind, 'ok'), w.head, NULL, NULL, NULL, NULL, v_stem, v_ats, NULL)::relay.row_2;
  IF w.head > p_seq AND coalesce(v_kind, 'ok') IN ('ok', 'behind') THEN
    RETURN QUERY SELECT * FROM relay.page_2(w.ws, p_seq, ${pageEntriesMax}) p WHERE p.seq <= w.head;
  END IF;
END $$`

/** SQL with which `append_1` refuses workspaces of newer formats: it stores no conflict keys with an entry, so machines could not check the entry. */
const guard =
  "IF w.format > 1 THEN RAISE 'this workspace needs a newer Agent Relay' USING ERRCODE = 'feature_not_supported'; END IF;"

export const judgedInnerStatements = [column, ...causes, rowType, page, isBehind, store, makeAppendSql(guard)]
export const judgedFunctions = [follow, turn, append]
