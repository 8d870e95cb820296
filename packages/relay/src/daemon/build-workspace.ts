// Builds a workspace, local or shared, with all its parts, from its database.

import { join } from 'node:path'
import { type Env, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Ids } from '@agent-relay/sdk/protocol'
import type { DaemonInfo } from '../broker/call.ts'
import { Dispatch } from '../broker/dispatch.ts'
import type { Neighbours } from '../broker/presence/other-workspaces.ts'
import { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { RunLimits } from '../runs/limits.ts'
import { HarnessSetups } from '../supervisor/launching.ts'
import type { SupervisorOptions } from '../supervisor/supervisor.ts'
import { declareRoles } from '../wires/roles.ts'
import { Worktrees } from '../work/worktrees.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { lockPathOf } from './inspect.ts'
import type { KnownWorkspaces } from './known-workspaces.ts'
import { type OpenWorkspace, startSupervisorAndRunner } from './open-workspace.ts'

/** The parts that all workspaces of a daemon share. */
export interface Shared {
  setups: HarnessSetups
  worktrees: Worktrees
}

export function sharedByAll(dataDir: string, env: Env = process.env): Shared {
  return { setups: new HarnessSetups(join(dataDir, 'harnesses')), worktrees: new Worktrees({ env, dataDir }) }
}

export interface Building extends Shared {
  directory: DataDirectory
  known: KnownWorkspaces
  cluster: ClusterAccess
  isMemory: boolean
  clock: Clock
  ids: Ids
  env: Env
  harnesses?: SupervisorOptions['harnesses']
  runLimits?: Partial<RunLimits>
  neighbours: Neighbours<Workspace>
  info: DaemonInfo
  onTrouble(error: Error): void
  onFatal(error: Error): void
}

export type Built = Omit<OpenWorkspace, 'wire'> & { key?: string }

export async function buildWorkspace(name: string, isNew: boolean, building: Building): Promise<Built> {
  const { directory, known, cluster, isMemory, clock, env, harnesses, setups, worktrees, runLimits, onTrouble } =
    building
  if (isNew && !isMemory) await cluster.mustBeFree(name)
  const folder = directory.make(name)
  const sharing = isMemory ? undefined : await cluster.of(name)
  const workspace = new Workspace({
    name,
    databasePath: isMemory ? ':memory:' : directory.database(name),
    besidePaths: isMemory ? [] : [lockPathOf(directory.path)],
    hooks: directory.hooks,
    searchPath: isMemory ? ':memory:' : join(folder, 'search.db'),
    ...{ clock, ids: building.ids, onTrouble, sharing },
    onFatal: building.onFatal,
  })
  try {
    const key = sharing ? await enter(workspace, building, sharing) : await begin(workspace, building, isNew)
    const dispatch = new Dispatch(workspace, building.neighbours, building.info)
    await declareRoles(dispatch)
    const started = await startSupervisorAndRunner(dispatch, {
      ...{ dataDir: directory.path, env, clock, harnesses, setups, worktrees, runLimits, onTrouble },
      ...{ workersDirectory: join(folder, 'workers'), socketPath: socketPathOf(directory.path, name) },
      url: () => building.info.url?.(),
      reached: sharing?.reached(),
    })
    known.begun(name)
    return { workspace, dispatch, ...started, key }
  } catch (error) {
    workspace.close()
    throw error
  }
}

async function begin(workspace: Workspace, { known }: Building, isNew: boolean): Promise<string | undefined> {
  const key = await workspace.begin((id, made) => known.keep(id, workspace.name, made), isNew)
  if (key === undefined) known.place(workspace.id)
  return key
}

/** Opens a shared workspace. While the cluster cannot be reached it goes on with the entries that it has; a workspace without any cannot be opened. */
async function enter(
  workspace: Workspace,
  { known, cluster, onTrouble }: Building,
  sharing: NonNullable<Awaited<ReturnType<ClusterAccess['of']>>>,
): Promise<undefined> {
  await sharing.looked()
  if (workspace.id === undefined) throw new RefusalError('cluster.unreachable', { workspace: workspace.name })
  known.place(workspace.id)
  workspace.sessions.onChange(() => cluster.changed())
  workspace.waits.onChange(() => cluster.changed())
  // Not awaited, because the cluster may be unreachable for hours.
  void sharing
    .reached()
    .then(() => workspace.settle())
    .catch(onTrouble)
}
