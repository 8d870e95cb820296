// The owner machine of a workspace, as the database stores it. From format 2 on, the owner is the machine that has shared the workspace, until it hands the
// workspace over, or the database's administrator makes another machine the owner. Only the owner may take a workspace out of the cluster.

import { administratorMark, copyMark } from '../../core/journal.ts'
import { machineFunctionAttributes } from './functions.ts'
import { emptyWorkspaceSql } from './moving-functions.ts'

/** Adds a column for the owner machine. It is NULL in format 1, which has no owners: any machine may take such a workspace out of the cluster. */
const column = 'ALTER TABLE relay.workspaces ADD COLUMN owner int'

/**
 * Fills in the owner of workspaces that are shared already. The last entry about the owner decides, but only entries that came with the copy or from the
 * administrator count, because no machine can forge their marks. An entry that is not JSON is ignored.
 */
const fill = `DO $$
DECLARE j record; v_owner int;
BEGIN
  FOR j IN SELECT ws, entry FROM relay.journal JOIN relay.workspaces w USING (ws) WHERE format > 1
    AND (mark LIKE '${copyMark}%' OR mark LIKE '${administratorMark}%') AND entry LIKE '%workspace.owned%' ORDER BY ws, seq
  LOOP
    BEGIN
      SELECT m.id INTO v_owner FROM json_array_elements(j.entry::json -> 'facts') WITH ORDINALITY AS f(fact, i)
        JOIN relay.machines m ON m.name = fact ->> 'machine' WHERE fact ->> 'type' = 'workspace.owned' ORDER BY i DESC LIMIT 1;
      IF v_owner IS NOT NULL THEN UPDATE relay.workspaces SET owner = v_owner WHERE ws = j.ws; END IF;
    EXCEPTION WHEN data_exception THEN NULL;
    END;
  END LOOP;
END $$`

/** Makes the copied workspace shared, with the machine that has copied it as its owner. A machine cannot finish a copy that another machine has begun. */
const moveEnd = (
  head: string,
  format: string,
  owner: string,
) => `CREATE OR REPLACE FUNCTION relay.${head} RETURNS boolean
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1();
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN false; END IF;
  UPDATE relay.workspaces w SET format = ${format}, owner = ${owner} WHERE w.id = p_workspace AND w.format = 0 AND w.head = p_head
    AND ${format} > 0 AND NOT EXISTS (SELECT FROM relay.journal j WHERE j.ws = w.ws AND j.machine <> m.id);
  RETURN FOUND;
END $$`
const moveEnds = [
  moveEnd('move_end_1(p_workspace text, p_boot int, p_head bigint)', '1', 'NULL'),
  moveEnd(
    'move_end_2(p_workspace text, p_boot int, p_head bigint, p_format int)',
    'p_format',
    'CASE WHEN p_format > 1 THEN m.id END',
  ),
]

/** Replaces the first `take_back_1`: now only the owner may take the workspace out of the cluster. */
const takeBack = `CREATE OR REPLACE FUNCTION relay.take_back_1(p_workspace text, p_boot int, p_seq bigint, p_mark text) RETURNS text
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); w relay.workspaces; v_stopped text;
BEGIN
  IF m.id IS NULL THEN RETURN 'revoked'; END IF;
  -- Before the lock: who may not have it holds up nobody.
  IF EXISTS (SELECT FROM relay.workspaces o WHERE o.id = p_workspace AND o.owner <> m.id) THEN RETURN 'owner'; END IF;
  SELECT * INTO w FROM relay.workspaces WHERE id = p_workspace FOR UPDATE;
  IF w.ws IS NULL THEN RETURN 'removed'; END IF;
  IF w.owner <> m.id THEN RETURN 'owner'; END IF;
  v_stopped := relay.stopped_1(relay.self_1(), w.ws, p_boot, p_seq, p_mark);
  IF v_stopped IS NOT NULL THEN RETURN v_stopped; END IF;
  IF w.head > p_seq THEN RETURN 'behind'; END IF;
  ${emptyWorkspaceSql}
  DELETE FROM relay.workspaces WHERE ws = w.ws;
  PERFORM pg_notify('relay_' || w.ws, (w.head + 1) || ' 0');
  RETURN 'ok';
END $$`

/** Lets the owner hand its workspace over to another machine. The database itself writes the entry about this, so that all machines trust it. */
const handOver = `CREATE FUNCTION relay.hand_over_1(p_workspace text, p_boot int, p_machine text) RETURNS text
LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE m relay.machines := relay.self_1(); w relay.workspaces; t relay.machines; v_stopped text := relay.stopped_1(m, 0, p_boot, 0, '');
BEGIN
  IF v_stopped IS NOT NULL THEN RETURN v_stopped; END IF;
  IF NOT EXISTS (SELECT FROM relay.workspaces WHERE id = p_workspace AND owner = m.id) THEN RETURN 'owner'; END IF;
  SELECT * INTO w FROM relay.workspaces WHERE id = p_workspace FOR NO KEY UPDATE;
  IF w.owner IS DISTINCT FROM m.id THEN RETURN 'owner'; END IF;
  SELECT * INTO t FROM relay.machines WHERE name = p_machine AND joined_at IS NOT NULL AND revoked_at IS NULL;
  IF t.id IS NULL THEN RETURN 'unknown'; END IF;
  UPDATE relay.workspaces SET owner = t.id WHERE ws = w.ws;
  PERFORM relay.proclaim_1(w.ws, m.id, json_build_array(json_build_object('type', 'workspace.owned', 'machine', t.name)));
  RETURN 'ok';
END $$`

/** Replaces the first `raise_1`: now the database also stores the owner. */
const raise = `CREATE OR REPLACE FUNCTION relay.raise_1(p_workspace text, p_machine text, p_format int, p_facts json) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE w relay.workspaces; m relay.machines;
BEGIN
  SELECT * INTO m FROM relay.machines WHERE name = p_machine AND joined_at IS NOT NULL AND revoked_at IS NULL;
  SELECT * INTO w FROM relay.workspaces WHERE name = p_workspace AND format > 0 AND format <= p_format FOR NO KEY UPDATE;
  IF m.id IS NULL OR w.ws IS NULL THEN RETURN NULL; END IF;
  UPDATE relay.workspaces SET format = p_format, owner = m.id WHERE ws = w.ws;
  PERFORM relay.proclaim_1(w.ws, m.id, p_facts);
  RETURN w.format;
END $$`

export const ownerStatements = {
  tables: [column, fill],
  replaced: [...moveEnds, takeBack, raise],
  forMachines: [handOver],
}
