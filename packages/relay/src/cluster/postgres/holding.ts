// Who holds others up is ended. Every append waits for the lock on the row of its workspace, and a transaction keeps a lock until it ends: a machine
// that begins one and falls silent would stop all others. PostgreSQL itself says who waits for whom, whatever kind of lock it is.

import { setTimeout as pause } from 'node:timers/promises'
import { type Client, withAnother } from './connection.ts'
import { secure } from './functions.ts'
import { machineRole, ownerRole } from './roles.ts'

/** A machine may be waited for so long. An honest turn lasts one round trip, and the server ends it after a second of silence. */
const holdMsMax = 2_000
/** Whoever administers the database waits for less. An honest turn that is ended for them is taken again. */
const [administratorMs, lookMs] = [150, 50]

/** A role of the cluster: of a machine or of an invitation. */
const ours =
  '(SELECT role FROM relay.machines UNION SELECT invitation FROM relay.machines WHERE invitation IS NOT NULL)'

/** Whom the owner may end: those whose role it is a member of. PostgreSQL 15 lets a role take that away, and there the owner may end anybody. */
const mayEnd = "(pg_has_role(a.usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE'))"

/**
 * Ends the connections of each machine that somebody has been waiting for, and answers how many. All of them, because a machine may stand in line
 * with every connection that it has, and one of its connections may keep a lock for which another waits.
 *
 * Never ended: who waits for a lock itself, because somebody else is the cause, and is ended first; who waits for a synchronous standby, because its
 * commit would be seen without being on the standby; who waits for the disk, as commits do. A wait for a transaction begins when that
 * transaction has the lock, so that a machine which waited for long is not ended when its turn comes. A wait for a place in line ("tuple") does not.
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

/** Asked by a machine that waits. Whoever else asks, and however often: nobody is ended who was not waited for for that long. */
const free = `CREATE FUNCTION relay.free_1() RETURNS bigint LANGUAGE sql VOLATILE ${secure} AS $$
  SELECT relay.end_holders_1(NULL, ${holdMsMax}) WHERE (relay.self_1()).id IS NOT NULL
$$`

/** Those of the owner, and those that machines may execute. */
export const holdingFunctions = { inner: [endHolders], forMachines: [free] }

/** By a machine. Nothing happens where the database has an older schema. */
export async function endHolder(client: Client): Promise<void> {
  await client.query(
    `DO $$ BEGIN IF to_regproc('relay.free_1') IS NOT NULL THEN PERFORM relay.free_1(); END IF; END $$`,
  )
}

/** A number that no other program is likely to lock. */
const administratorLock = 7_365_111

/**
 * Does what waits for locks, and ends whichever machine is in its way. `client` belongs to whoever administers the database; one of them at a time
 * does so, because two who drop the same role would meet half of each other's work.
 */
export async function clearingTheWay<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const done = new AbortController()
  const cleared = withAnother(client, (helper) => clear(helper, rows[0].pid, done.signal))
  // Told by the work itself, which waits then for as long as it must.
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

/** Where a server is set to keep prepared transactions, a machine can leave one that holds its locks without a connection. No daemon makes one. */
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
