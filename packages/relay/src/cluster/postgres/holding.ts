// Ends connections that hold up others. Every append waits for the lock on its workspace's row, and a transaction keeps a lock until it ends: a machine
// that begins one and falls silent would stop all others. PostgreSQL itself says which connection waits for which, whatever kind of lock it is.

import { setTimeout as pause } from 'node:timers/promises'
import { type Client, withSecondClient } from './connection.ts'
import { machineFunctionAttributes } from './functions.ts'
import { machineRole, ownerRole } from './roles.ts'

/** Maximum time that others wait for a machine. An honest turn lasts one round trip, and the server ends it after a second of silence. */
const holdMsMax = 2_000
/** The administrator of the database waits for less time. An honest turn that is ended for the administrator is repeated. */
const [administratorMs, lookMs] = [150, 50]

/** The roles of the cluster's machines and invitations. */
const ours =
  '(SELECT role FROM relay.machines UNION SELECT invitation FROM relay.machines WHERE invitation IS NOT NULL)'

/**
 * Whether the schema's owner may end a connection: the owner must be a member of the connection's role. In PostgreSQL 15 a role can take that membership
 * away, and there the owner may end anybody's connections.
 */
const mayEnd = "(pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE'))"

/**
 * Ends all connections of each machine for which another connection has waited too long, and returns how many. All of them, because a machine may wait in
 * line with every connection that it has, and one of them may keep a lock that another waits for.
 *
 * Three kinds of connections are never ended: one that waits for a lock itself, because another connection is the cause and is ended first; one that waits
 * for a synchronous standby, because its commit would be seen without being on the standby; one that waits for the disk, as commits do. A wait for a
 * transaction begins when that transaction has the lock, so a machine that waited for long is not ended when its turn comes. A wait for a place in line
 * ("tuple") gives no such certainty, so it does not count.
 */
const endHolders = `CREATE FUNCTION relay.end_holders_1(p_waiter int, p_ms int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  WITH RECURSIVE waits AS MATERIALIZED (
    SELECT l.pid, l.locktype, l.waitstart, pg_blocking_pids(l.pid) AS blockers, a.usename IN ${ours} AS is_ours
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT l.granted
  ), line AS (
    SELECT * FROM waits WHERE p_waiter IS NULL OR pid = p_waiter
    UNION SELECT w.* FROM line l JOIN waits w ON w.pid = ANY (l.blockers)
  ), holders AS (
    SELECT DISTINCT a.usesysid FROM line l JOIN pg_stat_activity a ON a.pid = ANY (l.blockers)
    WHERE l.waitstart < clock_timestamp() - p_ms * interval '1 millisecond'
      AND (l.locktype = 'transactionid' OR (l.locktype <> 'tuple' AND (l.is_ours OR l.pid = p_waiter)))
      AND a.pid NOT IN (SELECT pid FROM waits) AND a.wait_event_type IS DISTINCT FROM 'IO' AND a.wait_event IS DISTINCT FROM 'SyncRep'
      AND a.usename IN ${ours}
  )
  SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN holders h ON h.usesysid = a.usesysid
  WHERE a.wait_event IS DISTINCT FROM 'SyncRep' AND a.pid <> pg_backend_pid() AND ${mayEnd}
$$`

/** Ends machines that hold up others, called by a waiting machine. However often it is called, only machines that others waited for that long are ended. */
const free = `CREATE FUNCTION relay.free_1() RETURNS bigint LANGUAGE sql VOLATILE ${machineFunctionAttributes} AS $$
  SELECT relay.end_holders_1(NULL, ${holdMsMax}) WHERE (relay.self_1()).id IS NOT NULL
$$`

/** `inner`: functions for the owner alone. `forMachines`: functions that machines may execute. */
export const holdingFunctions = { inner: [endHolders], forMachines: [free] }

/** Asks the database to end machines that hold up this one. Does nothing if the database has an older schema. */
export async function endBlockingMachines(client: Client): Promise<void> {
  await client.query(
    `DO $$ BEGIN IF to_regproc('relay.free_1') IS NOT NULL THEN PERFORM relay.free_1(); END IF; END $$`,
  )
}

/** The number of an advisory lock, which no other program is likely to use. */
const administratorLock = 7_365_111

/**
 * Runs work that waits for locks, and ends the connections of each machine that blocks it. `client` belongs to the administrator of the database. One
 * administrator works at a time, because two who drop the same role would meet half of each other's work.
 */
export async function withBlockersEnded<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const done = new AbortController()
  const cleared = withSecondClient(client, (helper) => clear(helper, rows[0].pid, done.signal))
  // If ending the blockers fails, the work itself reports the error and waits as long as it must.
  cleared.catch(() => {})
  try {
    await client.query('SELECT pg_advisory_lock($1)', [administratorLock])
    return await work()
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [administratorLock]).catch(() => {})
    done.abort()
    await cleared.catch(() => {})
  }
}

async function clear(helper: Client, waiter: number, isDone: AbortSignal): Promise<void> {
  await rollBackPrepared(helper)
  await helper.query(`SET ROLE ${ownerRole}`)
  while (!isDone.aborted) {
    await helper.query('SELECT relay.end_holders_1($1, $2)', [waiter, administratorMs])
    await pause(lookMs, undefined, { signal: isDone }).catch(() => {})
  }
}

/** Rolls back prepared transactions, which no daemon makes. If the server keeps them, a machine can leave one that holds its locks without a connection. */
async function rollBackPrepared(helper: Client): Promise<void> {
  const { rows } = await helper.query(
    `SELECT gid, owner FROM pg_prepared_xacts WHERE database = current_database()
      AND pg_has_role(owner, '${machineRole}', 'MEMBER') AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = owner)
      AND pg_has_role(owner, 'MEMBER')`,
  )
  for (const { gid, owner } of rows) {
    await helper.query(`SET ROLE ${helper.escapeIdentifier(owner)}`)
    await helper.query(`ROLLBACK PREPARED ${helper.escapeLiteral(gid)}`)
  }
}
