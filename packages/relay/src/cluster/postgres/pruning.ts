// Deletes conflict keys that are too old to matter. A machine that lacks more than a page of entries must fetch them before it can append, so the keys of
// older entries are never compared.

import { pageEntriesMax } from '../cluster-journal.ts'
import { machineFunctionAttributes } from './functions.ts'
import type { PostgresCluster } from './postgres-cluster.ts'

const prune = `CREATE FUNCTION relay.prune_1(p_boot int, p_workspace text) RETURNS bigint LANGUAGE plpgsql STRICT ${machineFunctionAttributes} AS $$
DECLARE v_count bigint;
BEGIN
  IF relay.stopped_1(relay.self_1(), 0, p_boot, 0, '') IS NOT NULL THEN RETURN 0; END IF;
  DELETE FROM relay.keys k USING relay.workspaces w WHERE w.id = p_workspace AND k.ws = w.ws AND k.seq < w.head - ${pageEntriesMax};
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$`

export const pruningFunctions = [prune]

/** Deletes the old conflict keys of a workspace. Returns how many were deleted. */
export function pruneKeys(cluster: PostgresCluster, workspace: string): Promise<number> {
  return cluster.asReader(async (client, boot) => {
    const { rows } = await client.query('SELECT relay.prune_1($1, $2) AS count', [boot, workspace])
    return Number(rows[0].count)
  })
}
