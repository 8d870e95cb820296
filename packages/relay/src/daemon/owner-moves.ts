// Moves a workspace into the cluster of this machine or back, or replaces it by another copy after a failover, without stopping the daemon. The workspace is
// closed meanwhile. The steps are in cluster/moving.ts and cluster/reconciling.ts.

import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** The parts of the daemon that a move uses. */
interface DaemonForMoves {
  open(name: string): Promise<{ entry: WorkspaceEntry }>
  workspaces: Pick<OpenWorkspaces, 'visit' | 'close'>
  cluster: ClusterAccess
  entry(name: string): WorkspaceEntry
}

const homeIsLocalText = 'each machine has its own "home", for agents outside a project. Share a workspace with a name.'

/** Moves a workspace, which is closed meanwhile, and opens it again even if the move has failed. */
export async function moveWorkspace<V extends 'share' | 'unshare' | 'reconcile'>(
  daemon: DaemonForMoves,
  workspace: string,
  verb: V,
  isForced = false,
): Promise<WorkspaceEntry & Awaited<ReturnType<ClusterAccess[V]>>> {
  if (workspace === homeWorkspace)
    throw new RefusalError('input.invalid', { operation: 'workspace.share', why: homeIsLocalText })
  const { users: agents = [] } = (await daemon.open(workspace)).entry
  if (agents.length > 0 && !isForced) throw new RefusalError('workspace.busy', { workspace, agents, verb })
  let moved = {} as Awaited<ReturnType<ClusterAccess[V]>>
  try {
    await daemon.workspaces.close(workspace, isForced, async () => {
      moved = (await daemon.cluster[verb](workspace)) as typeof moved
    })
  } finally {
    await daemon.open(workspace)
  }
  return { ...daemon.entry(workspace), ...moved }
}

/** Reconciles a workspace after a failover. It is closed only if this machine has to replace its copy. */
export async function reconcileWorkspace(
  daemon: DaemonForMoves,
  workspace: string,
  isForced?: boolean,
): Promise<OutputOf<'workspace.reconcile'>> {
  await daemon.open(workspace)
  const more = await daemon.workspaces.visit(workspace, ({ workspace: { id } }) =>
    daemon.cluster.reconcileWhileOpen(workspace, id),
  )
  if (!more) return moveWorkspace(daemon, workspace, 'reconcile', isForced)
  return { ...daemon.entry(workspace), ...more }
}
