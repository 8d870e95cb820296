// Moves a workspace into the cluster of this machine and back, or replaces it by another copy after a failover, while the daemon goes on serving. The
// workspace is closed meanwhile. The steps are in cluster/moving.ts and cluster/reconciling.ts.

import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** The daemon, as far as moving needs it. */
interface Moved {
  open(name: string): Promise<{ entry: WorkspaceEntry }>
  workspaces: Pick<OpenWorkspaces, 'visit' | 'close'>
  cluster: ClusterAccess
  entry(name: string): WorkspaceEntry
}

const homeIsOwn = 'each machine has its own "home", for agents outside a project. Share a workspace with a name.'

/** Closes the workspace while it moves, and opens it again whether or not the move succeeded. */
export async function move<V extends 'share' | 'unshare' | 'reconcile'>(
  daemon: Moved,
  workspace: string,
  verb: V,
  isForced = false,
): Promise<WorkspaceEntry & Awaited<ReturnType<ClusterAccess[V]>>> {
  if (workspace === homeWorkspace)
    throw new RefusalError('input.invalid', { operation: 'workspace.share', why: homeIsOwn })
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

/** Reconciles a workspace. It is closed only if this machine has to go on with another copy. */
export async function reconcile(
  daemon: Moved,
  workspace: string,
  isForced?: boolean,
): Promise<OutputOf<'workspace.reconcile'>> {
  await daemon.open(workspace)
  const more = await daemon.workspaces.visit(workspace, ({ workspace: { id } }) =>
    daemon.cluster.bringBack(workspace, id),
  )
  if (!more) return move(daemon, workspace, 'reconcile', isForced)
  return { ...daemon.entry(workspace), ...more }
}
