// Ends connections of machines that block others. Every append waits for a lock on its workspace's row, and a transaction keeps its locks until it ends: a
// machine that begins a transaction and falls silent would stop all others. PostgreSQL itself knows which connection waits for which, whatever kind of lock
// it is.

import { setTimeout as pause } from 'node:timers/promises'
import { type Client, withSecondClient } from './connection.ts'
import { machineFunctionAttributes } from './functions.ts'
import { machineRole, ownerRole } from './roles.ts'

/**
 * How long another connection must have waited before the machine that blocks it is ended. An honest turn to append takes one round trip, and the server
 * ends it after a second of silence.
 */
const holdMsMax = 2_000
/** The same for waits of the database's administrator, and the interval between looks. It is shorter: an honest turn that it ends is repeated. */
const [administratorMs, lookMs] = [150, 50]

/** SQL for the roles of the cluster's machines and invitations. */
const ours =
  '(SELECT role FROM relay.machines UNION SELECT invitation FROM relay.machines WHERE invitation IS NOT NULL)'

/**
 * SQL for whether the schema's owner may end a connection: the owner must be a member of the connection's role. In PostgreSQL 15 a role can revoke that
 * membership, so there the owner has the right to end anybody's connections.
 */
const mayEnd = "(pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE'))"

/**
 * Ends all connections of each machine for which another connection has waited too long, and returns how many were ended. It ends all of them, because a
 * machine may wait for locks with every connection that it has, and one of these may hold a lock that others wait for.
 *
 * Three kinds of connections are never taken for the cause: one that waits for a lock itself, because the connection it waits for is the cause and is ended
 * first; one that waits for the disk, as commits do; one that waits for a synchronous standby. The last kind is never ended at all, because its commit would
 * become visible before the standby has it. A wait for a transaction begins only when that transaction has the lock, so a machine that has waited long
 * itself is not ended when it gets the lock. A wait for a place in the queue ("tuple") does not show that, so it does not count.
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

/**
 * Ends the connections of machines that block others; a waiting machine calls it. It may be called any number of times: it ends only machines for which
 * others have waited for `holdMsMax`.
 */
const free = `CREATE FUNCTION relay.free_1() RETURNS bigint LANGUAGE sql VOLATILE ${machineFunctionAttributes} AS $$
  SELECT relay.end_holders_1(NULL, ${holdMsMax}) WHERE (relay.self_1()).id IS NOT NULL
$$`

/** `inner`: functions for the owner alone. `forMachines`: functions that machines may execute. */
export const holdingFunctions = { inner: [endHolders], forMachines: [free] }

/** Asks the database to end the connections of machines that block this one. Does nothing if the database has an older schema. */
export async function endBlockingMachines(client: Client): Promise<void> {
  await client.query(
    `DO $$ BEGIN IF to_regproc('relay.free_1') IS NOT NULL THEN PERFORM relay.free_1(); END IF; END $$`,
  )
}

/** The number of an advisory lock, chosen so that no other program is likely to use it. */
const administratorLock = 7_365_111

/**
 * Runs work that waits for locks, and meanwhile ends the connections of machines that block it. `client` is the connection of the database's administrator.
 * Only one administrator works at a time, because two who drop the same role would disturb each other.
 */
export async function withBlockersEnded<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const done = new AbortController()
  const cleared = withSecondClient(client, (helper) => clear(helper, rows[0].pid, done.signal))
  // If ending connections fails, the work goes on: it waits for its locks, and reports errors itself.
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

/**
 * Rolls back prepared transactions. Daemons never make any; on a server that allows them, a hostile machine could leave one behind that holds locks without
 * a connection.
 */
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
