// Calls of the SQL functions that copy a workspace into a cluster page by page, and that take it out again.

import type { EntryDraft } from '../../core/journal.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { newestSharedFormat } from '../../core/workspaces.ts'
import type { JournalPosition } from '../cluster-journal.ts'
import { draftTexts } from './entry-text.ts'
import type { PostgresCluster } from './postgres-cluster.ts'

/** A page of entries of a workspace that is being copied, with the conflict keys that the entries change. */
export interface EntryPage {
  drafts: readonly EntryDraft[]
  writes: readonly string[]
}

/** The answer to beginning a copy. taken: another workspace in the cluster has the name. there: the workspace is shared already. */
export type MoveInResult = 'ok' | 'taken' | 'there' | 'revoked' | 'fenced'

export function beginMoveIn(cluster: PostgresCluster, id: string, name: string): Promise<MoveInResult> {
  return one(cluster, (boot) => ['move_in_1', id, name, boot])
}

/**
 * Stores a page of copied entries in the cluster. Returns false if another machine has begun to copy the workspace meanwhile. `seq`: the number of the entry
 * before this page.
 */
export function copyPage(
  cluster: PostgresCluster,
  id: string,
  { seq, stem }: { seq: number; stem: string },
  { drafts, writes }: EntryPage,
): Promise<boolean> {
  const noHomes = '[]'
  const texts = [JSON.stringify(writes), noHomes, ...draftTexts(drafts)]
  return one(cluster, (boot) => ['copy_1', id, boot, seq, stem, ...texts])
}

/** Makes the copied workspace shared. */
export function finishMoveIn(cluster: PostgresCluster, id: string, head: number): Promise<boolean> {
  return one(cluster, (boot) => ['move_end_2', id, boot, head, newestSharedFormat])
}

/**
 * The answer to taking a workspace back. behind: this machine lacks entries. removed: another machine has taken the workspace back. owner: another machine
 * is the workspace's owner, and only the owner may take it back.
 */
export type TakeBackResult = 'ok' | 'behind' | 'owner' | 'removed' | 'revoked' | 'fenced' | 'diverged'

export function takeBack(
  cluster: PostgresCluster,
  id: string,
  { seq, mark }: JournalPosition,
): Promise<TakeBackResult> {
  return one(cluster, (boot) => ['take_back_1', id, boot, seq, mark])
}

/** The answer to a change of the owner machine. unknown: the cluster has no such machine. */
export type HandOverResult = 'ok' | 'owner' | 'unknown' | 'revoked' | 'fenced'

/** Makes another machine the owner of the workspace, if this machine is the owner. */
export function handOver(cluster: PostgresCluster, id: string, machine: string): Promise<HandOverResult> {
  return one(cluster, (boot) => ['hand_over_1', id, boot, machine])
}

function one<T>(cluster: PostgresCluster, call: (boot: number) => [string, ...unknown[]]): Promise<T> {
  return cluster.asWriter(async (client, boot) => {
    const [name, ...values] = call(boot)
    const places = values.map((_, i) => `$${i + 1}`).join(', ')
    const { rows } = await client.query(`SELECT relay.${name}(${places}) AS answer`, values).catch(older)
    return rows[0].answer as T
  })
}

const undefinedFunction = '42883'

/** Turns the error for a missing SQL function into a refusal that says that the database's schema is older than this version. */
function older(error: unknown): never {
  throw (error as { code?: string }).code === undefinedFunction ? new RefusalError('cluster.older') : error
}
