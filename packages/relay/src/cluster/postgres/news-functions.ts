// The SQL function for cluster/presence.ts that returns changes of presence on other machines. A machine without changes costs the server no more than one
// index row, so that the server's work grows with the number of machines and not with its square. Older daemons call the older form, `present_1`, which
// returns a row for every other machine each time.

import { lateStampsMax } from './presence-functions.ts'

/** The time of silence after which a machine counts as unreachable (late), and for how long after that it is reported as late, in ms. */
const [lateMs, toldLateMs] = [15_000, 60_000]
/** Maximum number of characters in one answer. The longest lists of agents are left out: their machines appear unchanged. */
const charsMax = 4_000_000

/**
 * Attributes of this file's function. Unlike in functions.ts, no index is forced: the tables are small, and the planner takes any plan with a forbidden scan
 * for expensive.
 */
const cheap = 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off'

/**
 * Stores this machine's presence ('' for unchanged), and returns changes. The first row has no workspace; its stamp is the server's time, which the caller
 * passes in the next call. The other rows are machines whose presence has changed since then, that have fallen silent or come back, that were removed, or
 * that were admitted again.
 */
const present = `CREATE FUNCTION relay.present_2(p_boot int, p_stamp bigint, p_rows json)
RETURNS TABLE (workspace text, machine text, seen_ms bigint, stamp bigint, agents text, removed boolean) LANGUAGE plpgsql STRICT ${cheap} AS $$
DECLARE m relay.machines := relay.self_1(); v_now timestamptz := clock_timestamp(); v_stamp bigint := (extract(epoch FROM v_now) * 1000000)::bigint;
  v_late timestamptz := v_now - ${lateMs} * interval '1 millisecond'; v_is_news boolean;
BEGIN
  IF relay.stopped_1(m, 0, p_boot, 0, '') IS NOT NULL THEN RETURN; END IF;
  WITH said AS (
    INSERT INTO relay.presence AS p (ws, machine, seen_at, stamp, agents)
    SELECT w.ws, m.id, v_now, v_stamp, r.agents FROM json_to_recordset(p_rows) AS r(workspace text, agents text)
    JOIN relay.workspaces w ON w.id = r.workspace
    ON CONFLICT ON CONSTRAINT presence_pkey DO UPDATE SET seen_at = excluded.seen_at,
      stamp = CASE WHEN excluded.agents IN ('', p.agents) AND p.seen_at > v_late THEN p.stamp ELSE excluded.stamp END,
      agents = CASE WHEN excluded.agents = '' THEN p.agents ELSE excluded.agents END
    RETURNING p.stamp = v_stamp AS is_news)
  SELECT bool_or(is_news) INTO v_is_news FROM said;
  IF v_is_news THEN PERFORM pg_notify('relay_presence', m.id::text); END IF;
  RETURN QUERY SELECT '', '', 0::bigint, v_stamp, '', false
    UNION ALL SELECT t.id, t.name, t.seen_ms, t.stamp,
      CASE WHEN sum(length(t.agents)) OVER (ORDER BY length(t.agents), t.name, t.id) <= ${charsMax} THEN t.agents ELSE '' END, false
    FROM (SELECT w.id, o.name, (extract(epoch FROM v_now - p.seen_at) * 1000)::bigint AS seen_ms, p.stamp,
        CASE WHEN p.stamp > p_stamp - ${lateStampsMax} THEN p.agents ELSE '' END AS agents
      FROM json_to_recordset(p_rows) AS r(workspace text) JOIN relay.workspaces w ON w.id = r.workspace
      JOIN relay.presence p ON p.ws = w.ws AND p.machine <> m.id
      JOIN relay.machines o ON o.id = p.machine AND o.revoked_at IS NULL
      WHERE p.stamp > p_stamp - ${lateStampsMax} OR o.joined_at > to_timestamp((p_stamp - ${lateStampsMax}) / 1000000.0)
        OR p.seen_at BETWEEN v_late - ${toldLateMs} * interval '1 millisecond' AND v_late) t
    UNION ALL SELECT r.workspace, o.name, 0, 0, '', true FROM relay.machines o, json_to_recordset(p_rows) AS r(workspace text)
    WHERE o.revoked_at > to_timestamp((p_stamp - ${lateStampsMax}) / 1000000.0);
END $$`

/** Switches JIT compilation off for older functions: they force plans that look expensive, so that PostgreSQL would compile each call. */
const compileNothing = `DO $$ DECLARE f regprocedure; BEGIN
  FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'relay'::regnamespace AND proconfig IS NOT NULL LOOP
    EXECUTE format('ALTER FUNCTION %s SET jit = off', f);
  END LOOP;
END $$`

export const presenceNews = { functions: [present], after: [compileNothing] }
