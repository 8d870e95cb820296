// The third form of the SQL functions that fetch and append entries. It differs from the second only in the two lookups with which each function begins: in
// the second form they are SQL functions, which PostgreSQL plans at each call; in PL/pgSQL, a connection keeps its plans. Older daemons use the second form.

import { judgedFunctions } from './judged-functions.ts'

const self = `CREATE FUNCTION relay.self_2() RETURNS relay.machines LANGUAGE plpgsql STABLE AS $$
DECLARE m relay.machines;
BEGIN
  SELECT * INTO m FROM relay.machines WHERE role = session_user AND joined_at IS NOT NULL AND revoked_at IS NULL;
  RETURN m;
END $$`

const stopped = `CREATE FUNCTION relay.stopped_2(p_machine relay.machines, p_ws int, p_boot int, p_seq bigint, p_mark text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN CASE
    WHEN p_machine.id IS NULL THEN 'revoked'
    WHEN p_machine.boot <> p_boot THEN 'fenced'
    WHEN p_seq <> 0 AND NOT EXISTS (SELECT FROM relay.journal WHERE ws = p_ws AND seq = p_seq AND mark = p_mark) THEN 'diverged'
  END;
END $$`

const next: Record<string, string> = { self_1: 'self_2', stopped_1: 'stopped_2' }
for (const name of ['follow', 'turn', 'append']) next[`${name}_2`] = `${name}_3`

export const plannedInnerFunctions = [self, stopped]
export const plannedFunctions = judgedFunctions.map((sql) =>
  sql.replace(/(?<=relay\.)\w+(?=\()/g, (name) => next[name] ?? name),
)
