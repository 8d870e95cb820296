// The SQL functions of moving.ts, which copy a workspace into a cluster and take it out again. Like those in functions.ts they are never changed once
// released. A workspace of format 0 is still being copied, so that no machine opens it.

import { copyMark } from '../../core/journal.ts'
import { entryAheadMsMax } from '../cluster-journal.ts'
import { machineFunctionAttributes } from './functions.ts'

const tablesOfWorkspace = ['journal', 'keys', 'homes', 'snapshots', 'presence', 'asks']

/** Deletes everything that belongs to the workspace `w` except its row. */
export const emptyWorkspaceSql = tablesOfWorkspace
  .map((table) => `DELETE FROM relay.${table} WHERE ws = w.ws;`)
  .join(' ')

/** Begins the copying. First deletes what an earlier, unfinished attempt has left. Returns 'there' if the workspace is shared already. */
const moveIn = `CREATE FUNCTION relay.move_in_1(p_id text, p_name text, p_boot int) RETURNS text LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); w relay.workspaces; v_stopped text := relay.stopped_1(m, 0, p_boot, 0, '');
BEGIN
  IF v_stopped IS NOT NULL THEN RETURN v_stopped; END IF;
  INSERT INTO relay.workspaces (id, name, format) VALUES (p_id, p_name, 0) ON CONFLICT DO NOTHING;
  SELECT * INTO w FROM relay.workspaces WHERE id = p_id FOR UPDATE;
  IF w.ws IS NULL OR w.name <> p_name THEN RETURN 'taken'; END IF;
  IF w.format > 0 THEN RETURN 'there'; END IF;
  ${emptyWorkspaceSql}
  UPDATE relay.workspaces SET head = 0, decided = 0, at = 0 WHERE ws = w.ws;
  RETURN 'ok';
END $$`

/** Stores a page of copied entries with their times and numbers. Returns false if another machine has begun to copy the workspace meanwhile. */
const copy = `CREATE FUNCTION relay.copy_1(p_workspace text, p_boot int, p_seq bigint, p_stem text, p_writes json, p_homes json,
  p_drafts json, p_entries json, p_payloads json) RETURNS boolean LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); w relay.workspaces; v_head bigint; v_at bigint;
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN false; END IF;
  SELECT * INTO w FROM relay.workspaces WHERE id = p_workspace AND format = 0 FOR NO KEY UPDATE;
  IF w.ws IS NULL OR w.head <> p_seq THEN RETURN false; END IF;
  WITH stored AS (
    INSERT INTO relay.journal (ws, seq, at, by, cause, machine, mark, entry, payload)
    SELECT w.ws, w.head + d.i, d.at, d.by, d.cause, m.id, '${copyMark}' || p_stem || '.' || (w.head + d.i), d.entry, decode(d.payload, 'base64')
    FROM ROWS FROM (json_to_recordset(p_drafts) AS (at bigint, by text, cause text), json_array_elements_text(p_entries),
      json_array_elements_text(p_payloads)) WITH ORDINALITY AS d(at, by, cause, entry, payload, i)
    RETURNING seq, at
  ) SELECT max(seq), max(at) INTO v_head, v_at FROM stored;
  -- A clock that once ran ahead must not hold back the times of all that follows.
  UPDATE relay.workspaces SET head = v_head, decided = v_head,
    at = greatest(w.at, least(v_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${entryAheadMsMax})) WHERE ws = w.ws;
  INSERT INTO relay.keys (ws, key, seq) SELECT DISTINCT w.ws, k, v_head FROM json_array_elements_text(p_writes) k
    ON CONFLICT (ws, key) DO UPDATE SET seq = excluded.seq;
  INSERT INTO relay.homes (ws, agent, machine, epoch) SELECT w.ws, h.agent, m.id, h.epoch
    FROM json_to_recordset(p_homes) AS h(agent text, epoch int);
  RETURN true;
END $$`

/** Makes the copied workspace shared. This commit decides where the workspace lives: before it on one machine, after it in the cluster. */
const moveEnd = `CREATE FUNCTION relay.move_end_1(p_workspace text, p_boot int, p_head bigint) RETURNS boolean LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
BEGIN
  IF relay.stopped_1(relay.self_1(), 0, p_boot, 0, '') IS NOT NULL THEN RETURN false; END IF;
  UPDATE relay.workspaces SET format = 1 WHERE id = p_workspace AND format = 0 AND head = p_head;
  RETURN FOUND;
END $$`

/** Makes the copied workspace shared like `move_end_1`, for a later format. */
const moveEnd2 = `CREATE FUNCTION relay.move_end_2(p_workspace text, p_boot int, p_head bigint, p_format int) RETURNS boolean
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
BEGIN
  IF relay.stopped_1(relay.self_1(), 0, p_boot, 0, '') IS NOT NULL THEN RETURN false; END IF;
  UPDATE relay.workspaces SET format = p_format WHERE id = p_workspace AND format = 0 AND head = p_head AND p_format > 0;
  RETURN FOUND;
END $$`

/** Deletes the workspace from the cluster, for a machine that has all of its entries. This commit decides that the workspace lives on that machine alone. */
const takeBack = `CREATE FUNCTION relay.take_back_1(p_workspace text, p_boot int, p_seq bigint, p_mark text) RETURNS text
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE w relay.workspaces; v_stopped text;
BEGIN
  IF (relay.self_1()).id IS NULL THEN RETURN 'revoked'; END IF;
  SELECT * INTO w FROM relay.workspaces WHERE id = p_workspace FOR UPDATE;
  IF w.ws IS NULL THEN RETURN 'removed'; END IF;
  v_stopped := relay.stopped_1(relay.self_1(), w.ws, p_boot, p_seq, p_mark);
  IF v_stopped IS NOT NULL THEN RETURN v_stopped; END IF;
  IF w.head > p_seq THEN RETURN 'behind'; END IF;
  ${emptyWorkspaceSql}
  DELETE FROM relay.workspaces WHERE ws = w.ws;
  PERFORM pg_notify('relay_' || w.ws, (w.head + 1) || ' 0');
  RETURN 'ok';
END $$`

export const movingFunctions = [moveIn, copy, moveEnd, takeBack]
export const movingFunctions2 = [moveEnd2]
