// The SQL function of status.ts, which reports the state of a cluster. Like those in functions.ts it is never changed once released.

import { machineFunctionAttributes } from './functions.ts'

/** Lists the standbys of the server. PostgreSQL shows empty rows to a role that may not see its statistics; the list is then NULL. */
const standbys = `(SELECT CASE WHEN count(*) > 0 AND count(state) = 0 THEN NULL ELSE coalesce(json_agg(json_build_object(
    'name', application_name, 'kind', sync_state,
    'behindBytes', CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::bigint END)), '[]') END
  FROM pg_stat_replication)`

const machines = `(SELECT coalesce(json_agg(json_strip_nulls(json_build_object('name', name, 'version', version, 'startedAt', booted_at,
    'seenAt', greatest(back_at, booted_at, (SELECT max(p.seen_at) FROM relay.presence p WHERE p.machine = m.id)), 'joinedAt', joined_at,
    'revokedAt', revoked_at)) ORDER BY id), '[]')
  FROM relay.machines m WHERE joined_at IS NOT NULL)`

const workspaces = `(SELECT coalesce(json_agg(json_strip_nulls(json_build_object('name', name, 'entries', head,
    'isMoving', CASE WHEN format = 0 THEN true END)) ORDER BY ws), '[]') FROM relay.workspaces)`

const status = `CREATE FUNCTION relay.status_1() RETURNS json LANGUAGE sql VOLATILE ${machineFunctionAttributes} AS $$
  SELECT json_strip_nulls(json_build_object(
    'serverVersion', current_setting('server_version'), 'isPrimary', NOT pg_is_in_recovery(),
    'waitsForDisk', current_setting('fsync') = 'on', 'waitsFor', current_setting('synchronous_standby_names'),
    'standbys', ${standbys},
    'connections', json_build_object('max', current_setting('max_connections')::int,
      'all', (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database),
      'ours', (SELECT count(*) FROM pg_stat_activity a JOIN relay.machines m ON m.role = a.usename)),
    'schema', (SELECT max(version) FROM relay.schema_info), 'machines', ${machines}, 'workspaces', ${workspaces}))
  WHERE (SELECT id FROM relay.self_1()) IS NOT NULL
$$`

export const statusFunctions = [status]
