// The state of a cluster in PostgreSQL, as its machines may see it: server, standbys, machines, workspaces. Also tells people how safe an acknowledged write
// is in that state.

import type { Client } from './connection.ts'

export interface Standby {
  name: string
  /** What PostgreSQL calls the state of the standby: `sync`, `quorum`, `async`, `potential`. */
  kind: string
  /** Number of bytes that are not on the standby's disk yet. Unset if the server does not report it. */
  behindBytes?: number
}

export interface ClusterStatus {
  serverVersion: string
  isPrimary: boolean
  /** Whether the server answers a commit only when it is on the server's disk. */
  waitsForDisk: boolean
  /** The setting that names the standbys for which a commit waits. Empty: commits wait for none. */
  waitsFor: string
  /** The server's standbys. Unset if the owner of the cluster may not see them. */
  standbys?: Standby[]
  connections: { ours: number; all: number; max: number }
  schema: number
  /** `seenAt`: the time of the last sign of life from the machine's daemon; unset if it has never started. */
  machines: {
    name: string
    version?: string
    joinedAt: string
    startedAt?: string
    seenAt?: string
    revokedAt?: string
  }[]
  workspaces: { name: string; entries: number; isMoving?: boolean }[]
}

/** Returns the state of the cluster; undefined if this machine does not belong to the cluster. */
export async function clusterStatusOf(client: Client): Promise<ClusterStatus | undefined> {
  const { rows } = await client.query('SELECT relay.status_1() AS status')
  return (rows[0]?.status as ClusterStatus | null) ?? undefined
}

/** Says, for people, against which failures an acknowledged write is safe in this state. */
export function writeGuaranteeText({ isPrimary, waitsForDisk, waitsFor, standbys }: ClusterStatus): string {
  if (!isPrimary)
    return 'This server is a standby, which accepts no writes. Connect this machine to the primary server instead.'
  if (!waitsForDisk)
    return 'Nothing for certain: this server is set not to wait for its disk (fsync = off). What was acknowledged may be lost when its power fails.'
  const synchronous = (standbys ?? []).filter(({ kind }) => kind === 'sync' || kind === 'quorum')
  if (synchronous.length > 0)
    return 'What is acknowledged is on the disks of two servers. The loss of either loses nothing. While no synchronous standby answers, sends wait.'
  if (waitsFor !== '')
    return 'What is acknowledged is on the disks of two servers. No synchronous standby is connected at this moment, so sends wait for one.'
  if (standbys === undefined)
    return 'What is acknowledged is on the disk of the primary. Whether a standby has it too cannot be seen from here: the role relay_owner would need pg_read_all_stats.'
  if (standbys.length > 0)
    return (
      'What is acknowledged is on the disk of the primary alone; a standby gets it a moment later. After a failover to it the newest messages may be ' +
      'missing: every machine notices that, stops sending, and says so. To have sends wait for the standby: set synchronous_standby_names.'
    )
  return 'What is acknowledged is on the disk of this one server. With that disk it is lost, but for what the machines and the backups have.'
}
