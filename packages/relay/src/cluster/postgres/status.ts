// How a cluster in PostgreSQL is doing, as one of its machines may ask: who has it, who copies it, who comes. And what its promise is then worth.

import type { Client } from './connection.ts'

export interface Standby {
  name: string
  /** As PostgreSQL calls it: `sync`, `quorum`, `async`, `potential`. */
  kind: string
  /** What it does not have on its disk yet; unset where the server does not say. */
  behindBytes?: number
}

export interface ClusterStatus {
  serverVersion: string
  isPrimary: boolean
  /** False: the server is set not to wait for its disk. */
  waitsForDisk: boolean
  /** The setting that names the standbys which a commit waits for; empty where it waits for none. */
  waitsFor: string
  /** Unset where the owner of the cluster may not see them. */
  standbys?: Standby[]
  connections: { ours: number; all: number; max: number }
  schema: number
  /** `seenAt`: its daemon was heard of. Unset where none has started yet. */
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

/** Undefined: this machine is not one of the cluster. */
export async function statusOf(client: Client): Promise<ClusterStatus | undefined> {
  const { rows } = await client.query('SELECT relay.status_1() AS status')
  return (rows[0]?.status as ClusterStatus | null) ?? undefined
}

/** What it means that something was acknowledged. */
export function promiseOf({ isPrimary, waitsForDisk, waitsFor, standbys }: ClusterStatus): string {
  if (!isPrimary) return 'This server is a copy, which takes no writes. Lead this machine to the primary.'
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
