// Builds an open workspace, local or shared, from its database: all its parts, connected with each other.

import { join } from 'node:path'
import { type Env, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Ids } from '@agent-relay/sdk/protocol'
import type { DaemonInfo } from '../broker/call.ts'
import { Dispatch } from '../broker/dispatch.ts'
import type { Neighbours } from '../broker/presence/other-workspaces.ts'
import { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import { projectOwner } from '../machine/config.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { RunLimits } from '../runs/limits.ts'
import { type OpenRunSession, Runner } from '../runs/runner.ts'
import { HarnessSetups } from '../supervisor/launching.ts'
import type { SupervisorOptions } from '../supervisor/supervisor.ts'
import { openMcpSession } from '../wires/mcp-session.ts'
import { declareRoles } from '../wires/roles.ts'
import { Worktrees } from '../work/worktrees.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { lockPathOf } from './inspect.ts'
import type { KnownWorkspaces } from './known-workspaces.ts'
import type { OpenWorkspace } from './open-workspace.ts'
import { prepareFile } from './preparing.ts'
import { makeRuntimes } from './runtimes.ts'
import { offerDaemonActions } from './worker-actions.ts'

/** Parts that all workspaces of a daemon share, such as their worktrees. */
export interface DaemonWideParts {
  setups: HarnessSetups
  worktrees: Worktrees
}

export function makeDaemonWideParts(dataDir: string, env: Env = process.env): DaemonWideParts {
  return { setups: new HarnessSetups(join(dataDir, 'harnesses')), worktrees: new Worktrees({ env, dataDir }) }
}

export interface WorkspaceBuildOptions extends DaemonWideParts {
  directory: DataDirectory
  known: KnownWorkspaces
  cluster: ClusterAccess
  isMemory: boolean
  clock: Clock
  ids: Ids
  /** The name of the person who owns the daemon. Unset in a lift, where the roles are the only agents. */
  human?: string
  roles?: readonly string[]
  env: Env
  harnesses?: SupervisorOptions['harnesses']
  runLimits?: Partial<RunLimits>
  neighbours: Neighbours<Workspace>
  info: DaemonInfo
  onTrouble(error: Error): void
  onFatal(error: Error): void
}

export type BuiltWorkspace = Omit<OpenWorkspace, 'wire'> & { key?: string }

export async function buildWorkspace(
  name: string,
  isNew: boolean,
  building: WorkspaceBuildOptions,
): Promise<BuiltWorkspace> {
  const { directory, known, cluster, isMemory, clock, env, harnesses, setups, worktrees, runLimits } = building
  const { onTrouble, info } = building
  if (isNew && !isMemory) await cluster.assertNameFree(name)
  const dataDir = directory.path
  const folder = directory.makeFolder(name)
  if (!isMemory) await prepareFile(directory.databasePath(name), onTrouble)
  const sharing = isMemory ? undefined : await cluster.sharingOf(name)
  const runtimes = makeRuntimes({
    ...{ dataDir, folder, env, setups, harnesses, worktrees, onTrouble, whenWritable: sharing?.reached },
    project: () => projectOwner(dataDir, name),
    socketPath: socketPathOf(dataDir, name),
    url: () => info.url?.(),
  })
  const workspace = new Workspace({
    name,
    databasePath: isMemory ? ':memory:' : directory.databasePath(name),
    requiredPaths: isMemory ? [] : [lockPathOf(dataDir)],
    hooks: directory.hooks,
    searchPath: isMemory ? ':memory:' : join(folder, 'search.db'),
    ...{ clock, ids: building.ids, onTrouble, sharing, runtimes },
    person: building.roles ? undefined : building.human,
    onFatal: building.onFatal,
  })
  try {
    const key = sharing
      ? await enterSharedWorkspace(workspace, building, sharing)
      : await beginLocalWorkspace(workspace, building, isNew)
    const dispatch = new Dispatch(workspace, building.neighbours, info)
    await declareRoles(dispatch)
    await workspace.workers.start()
    // In a shared workspace, these actions are not offered: their caller may be on another machine than this daemon.
    if (!workspace.isShared) await offerDaemonActions(workspace)
    const dial = dialFor(dispatch)
    const runner = new Runner({
      ...{
        ledger: workspace.runs.reports,
        openSession: dial,
        clock,
        env,
        dataDir,
        settings: runtimes.loop,
        limits: runLimits,
      },
    })
    known.markBegun(name)
    return { workspace, dispatch, runner, key }
  } catch (error) {
    workspace.close()
    throw error
  }
}

/** Returns a function that opens a session for the loop of a run: as the run's agent, with no more rights than the session that asked for the run. */
function dialFor(dispatch: Dispatch): OpenRunSession {
  return async (run) => {
    const login = dispatch.workspace.runs.reports.takeLogin(run)
    if (!login) return undefined
    const { token, asker } = login
    return openMcpSession(dispatch, { door: asker.door, asker }, { token })
  }
}

async function beginLocalWorkspace(
  workspace: Workspace,
  { known }: WorkspaceBuildOptions,
  isNew: boolean,
): Promise<string | undefined> {
  const key = await workspace.start((id, made) => known.keepKey(id, workspace.name, made), isNew)
  if (key === undefined) known.recordDataDirectory(workspace.id)
  return key
}

/** Opens a shared workspace. While the cluster is unreachable, it works with the entries that this machine has; if there are none, it throws. */
async function enterSharedWorkspace(
  workspace: Workspace,
  { known, cluster, onTrouble }: WorkspaceBuildOptions,
  sharing: NonNullable<Awaited<ReturnType<ClusterAccess['sharingOf']>>>,
): Promise<undefined> {
  await sharing.looked()
  if (workspace.id === undefined) throw new RefusalError('cluster.unreachable', { workspace: workspace.name })
  known.recordDataDirectory(workspace.id)
  workspace.sessions.onChange(() => cluster.onPresenceChange())
  workspace.waits.onChange(() => cluster.onPresenceChange())
  // Leftovers are ended once the cluster answers, which may take hours: opening the workspace does not wait for it.
  void sharing
    .reached()
    .then(() => workspace.endLeftovers())
    .catch(onTrouble)
}
