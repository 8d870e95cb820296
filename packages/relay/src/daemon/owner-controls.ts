// The operations on the daemon's own socket, for its owner: workspaces, their keys, links to the page, the daemon's state and its end. daemon.ts puts the parts
// together.

import { join } from 'node:path'
import { type Env, homeWorkspace, projectDir, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { type AgentProcesses, assertPerson, identifyProcess } from '../broker/sessions/person.ts'
import type { Workspace } from '../broker/workspace.ts'
import { nearestNames } from '../core/nearest.ts'
import { RefusalError, refusalTextWithoutFix } from '../core/refusal-error.ts'
import { projectOwner, setProjectOwner } from '../machine/config.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { versionWithBuildId } from '../machine/version.ts'
import { readWorkspaceId } from '../store/contents.ts'
import { copyInThread } from '../store/snapshot.ts'
import type { HttpOptions, HttpWire } from '../wires/http.ts'
import type { PageLogin } from '../wires/page-login.ts'
import { isUnusedHome } from './backup.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { OwnerControls } from './control-socket.ts'
import type { KnownWorkspaces } from './known-workspaces.ts'
import { listWorkspaces, workspaceEntries } from './listing.ts'
import { userNamesOf, workerNamesOf } from './open-workspace.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import { moveWorkspace, reconcileWorkspace } from './owner-moves.ts'
import type { WorkspacePruner } from './pruning.ts'
import { sharedTroubleOf } from './shared-trouble.ts'

/** The parts of the daemon that these operations use. */
export interface ControllableDaemon {
  dataDir: string
  http?: Pick<HttpOptions, 'host' | 'mayBeRemote' | 'isOpen' | 'allowOrigins' | 'pageUrl'> & { home?: string }
  directory: DataDirectory
  known: KnownWorkspaces
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace; created: boolean; key?: string }>
  workspaces: Pick<OpenWorkspaces, 'names' | 'sockets' | 'pin' | 'visit' | 'close'>
  overview(): Promise<OutputOf<'workspace.overview'>>
  cluster: ClusterAccess
  pruner: WorkspacePruner
  remove(name: string, isForced?: boolean): Promise<void>
  /** Returns the name of the workspace that has this key. */
  nameOfKey(key: string): Promise<string | undefined>
  entry(name: string): WorkspaceEntry
  wire(): HttpWire | undefined
  login(): PageLogin | undefined
  uptimeMs(): number
  env: Env
  lag(): OutputOf<'daemon.status'>['lagMs']
  agentProcesses: AgentProcesses
  endsUnattended: boolean
  stop(): void
}

type CopyOutput = OutputOf<'workspace.copy'>

const homeStaysOpenText = 'agents outside a project meet in this workspace, so it stays open.'

export function makeOwnerControls(daemon: ControllableDaemon): OwnerControls {
  const { dataDir } = daemon
  return {
    ...workspaceControls(daemon),
    'daemon.status': () => ({
      version: versionWithBuildId,
      pid: process.pid,
      uptimeMs: daemon.uptimeMs(),
      dataDir,
      http: httpStatus(daemon),
      residentMb: Math.round(process.memoryUsage.rss() / 1e6),
      lagMs: daemon.lag(),
      path: daemon.env.PATH,
      ...(daemon.endsUnattended ? { endsUnattended: true } : {}),
      workspaces: workspaceEntries(daemon),
    }),
    'page.link': async ({ workspace, only = false }, asker) => {
      const { agentProcesses: agents } = daemon
      await assertPerson(identifyProcess(asker, agents), agents)
      assertKnown(daemon, workspace)
      return pageLink(daemon, workspace, !only)
    },
    'workspace.overview': async (_, asker) => {
      const { agentProcesses: agents } = daemon
      await assertPerson(identifyProcess(asker, agents), agents, { takesScript: true })
      return daemon.overview()
    },
    'daemon.person': async ({ script }, asker) => {
      const { agentProcesses: agents } = daemon
      await assertPerson(identifyProcess(asker, agents), agents, { takesScript: script })
      return {}
    },
    'page.logout': () => {
      daemon.login()?.logoutAll()
      return { ended: daemon.wire()?.closeLoggedOutPages() ?? 0 }
    },
    'daemon.stop': () => {
      setImmediate(() => daemon.stop())
      return { stopping: true }
    },
  }
}

type WorkspaceControls = Pick<
  OwnerControls,
  Exclude<Extract<keyof OwnerControls, `workspace.${string}`>, 'workspace.overview'>
>

function workspaceControls(daemon: ControllableDaemon): WorkspaceControls {
  const { dataDir, directory } = daemon
  return {
    'workspace.open': async ({ workspace, directory: owner, mustExist, local }) => {
      if (mustExist && !isKnown(daemon, workspace) && !(await daemon.cluster.adoptFromCluster(workspace)))
        assertKnown(daemon, workspace)
      const { created } = await daemon.cluster.allowLocalName(workspace, local, () => daemon.open(workspace))
      if (owner !== undefined && workspace !== homeWorkspace) setProjectOwner(dataDir, workspace, owner)
      return { ...daemon.entry(workspace), created }
    },
    'workspace.create': async ({ workspace, local }) => {
      const path = directory.databasePath(workspace)
      if (isWorkspaceHere(daemon, workspace)) throw new RefusalError('workspace.exists', { workspace, path })
      const { entry, key } = await daemon.cluster.allowLocalName(workspace, local, () => daemon.open(workspace))
      // The workspace exists: another call has created it after this one had checked the name.
      if (key === undefined) throw new RefusalError('workspace.exists', { workspace, path })
      return { ...entry, key }
    },
    'workspace.close': async ({ workspace, force = false }) => {
      assertKnown(daemon, workspace)
      if (workspace === homeWorkspace)
        throw new RefusalError('input.invalid', { operation: 'workspace.close', why: homeStaysOpenText })
      await daemon.workspaces.close(workspace, force)
      return daemon.entry(workspace)
    },
    'workspace.remove': async ({ workspace, force }) => {
      assertKnown(daemon, workspace)
      const { path } = daemon.entry(workspace)
      await daemon.remove(workspace, force)
      // Agents outside every project need the home workspace, so a new one is created at once.
      if (workspace === homeWorkspace) await daemon.open(workspace)
      return { workspace, path }
    },
    'workspace.share': ({ workspace, force }) => moveWorkspace(daemon, assertKnown(daemon, workspace), 'share', force),
    'workspace.unshare': ({ workspace, force }) =>
      moveWorkspace(daemon, assertKnown(daemon, workspace), 'unshare', force),
    'workspace.hand-over': ({ workspace, machine }) => daemon.cluster.handOver(assertKnown(daemon, workspace), machine),
    'workspace.reconcile': ({ workspace, force }) => reconcileWorkspace(daemon, assertKnown(daemon, workspace), force),
    'workspace.rotate-key': ({ workspace }) => rotateKey(daemon, assertKnown(daemon, workspace)),
    'workspace.copy': ({ workspace, to }) => copyWorkspace(daemon, assertKnown(daemon, workspace), to),
    'workspace.prune': ({ workspace, ...wish }, _, abandoned) =>
      daemon.pruner.prune(assertKnown(daemon, workspace), wish, abandoned),
    'workspace.place': async ({ workspace, from, key, local }) => {
      if (!local) await daemon.cluster.assertNameFree(workspace, { placing: true })
      await placeWorkspace(daemon, workspace, from, key)
      return (await daemon.open(workspace)).entry
    },
    'workspace.find': async ({ key }) => {
      const found = await daemon.nameOfKey(key)
      if (found === undefined)
        throw new RefusalError('auth.denied', { why: 'no workspace that is open here has this key.' })
      return daemon.entry(found)
    },
    'workspace.list': () => listWorkspaces(daemon),
  }
}

function isWorkspaceHere({ entry, directory }: ControllableDaemon, name: string): boolean {
  return entry(name).open || directory.hasWorkspace(name)
}

function isKnown(daemon: ControllableDaemon, workspace: string): boolean {
  return workspace === homeWorkspace || isWorkspaceHere(daemon, workspace) || daemon.known.has(workspace)
}

function assertKnown(daemon: ControllableDaemon, workspace: string): string {
  if (isKnown(daemon, workspace)) return workspace
  const names = workspaceEntries(daemon).map(({ name }) => name)
  throw new RefusalError('workspace.unknown', { workspace, nearest: nearestNames(workspace, names) })
}

/** Returns a workspace's entry in the owner's list of workspaces. */
export function workspaceEntryOf(
  name: string,
  dataDir: string,
  served: OpenWorkspaces,
  cluster: ClusterAccess,
  pruner: WorkspacePruner,
): WorkspaceEntry {
  const id = served.idOf(name)
  const opened = served.findOpen(name)
  const fault = served.sockets.faultOf(name)
  const pruning = pruner.progressOf(name)
  const reconciling = cluster.progressOf(name)
  const seq = opened ? opened.workspace.store.journal.lastSeq : served.restSummary(name)?.seq
  const [users, workers] = opened ? [userNamesOf(opened), workerNamesOf(opened.workspace)] : [[], []]
  return {
    name,
    id,
    open: id !== undefined,
    ...(served.isAtRest(name) ? { atRest: true } : {}),
    ...(fault ? { fault: refusalTextWithoutFix(fault) } : {}),
    ...(cluster.isShared(name) ? { shared: true } : {}),
    ...(reconciling ? { reconciling } : {}),
    ...(pruning ? { pruning } : {}),
    ...(opened ? sharedTroubleOf(opened.workspace) : {}),
    ...(users.length > 0 ? { users } : {}),
    ...(workers.length > 0 ? { workers } : {}),
    ...(seq === undefined ? {} : { seq }),
    directory: projectOwner(dataDir, name),
    socketPath: socketPathOf(dataDir, name),
    path: projectDir(dataDir, name),
  }
}

/** Makes a new key for the workspace. If that fails, the credentials file gets the former key back. */
async function rotateKey(daemon: ControllableDaemon, name: string): Promise<OutputOf<'workspace.rotate-key'>> {
  const { known } = daemon
  const release = daemon.workspaces.pin(name)
  try {
    const { entry, workspace } = await daemon.open(name)
    const former = known.keyOf(workspace.id)
    const keep = (key: string) => known.keepKey(workspace.id, name, key)
    const key = await workspace
      .rotateKey((_, made) => keep(made))
      .catch((error) => {
        if (former !== undefined) keep(former)
        throw error
      })
    // Closes the pages whose login ended with the former key, even if they show another workspace, which gets no event about the new key.
    daemon.wire()?.closeLoggedOutPages()
    return { ...entry, key }
  } finally {
    release()
  }
}

/** Copies a workspace's database. If the workspace was closed by its owner, it is not opened: its file is copied as it is. */
async function copyWorkspace(
  { workspaces, directory, known }: ControllableDaemon,
  workspace: string,
  path: string,
): Promise<CopyOutput> {
  const fault = known.faultOf(workspace)
  if (fault) throw fault
  const copied = await workspaces.visit(workspace, ({ workspace }) => workspace.store.copyTo(path).then(() => true))
  if (!copied) await copyInThread(directory.databasePath(workspace), path)
  return { workspace, path }
}

/** Puts a prepared workspace from a backup into its place. Only the id is read from its database, since a large file would block the event loop. */
async function placeWorkspace(daemon: ControllableDaemon, workspace: string, from: string, key: string): Promise<void> {
  const { directory, known } = daemon
  const id = directory.isRestoreFolder(from) ? readWorkspaceId(join(from, 'relay.db')) : undefined
  if (id === undefined)
    throw new RefusalError('input.invalid', { operation: 'workspace.place', why: `${from} was not prepared for this` })
  if (!isUnusedHome(directory, workspace)) return known.placeRestored(workspace, from, { id, key })
  await daemon.open(workspace)
  try {
    await daemon.workspaces.close(workspace, false, async () => {
      // A client may have used the home workspace before it was closed, so this checks again whether it is unused.
      known.placeRestored(workspace, from, { id, key }, isUnusedHome(directory, workspace))
      daemon.wire()?.closeLoggedOutPages()
    })
  } finally {
    await daemon.open(workspace)
  }
}

async function pageLink(daemon: ControllableDaemon, workspace: string, isAll: boolean): Promise<OutputOf<'page.link'>> {
  const { entry } = await daemon.open(workspace)
  const [wire, login] = [daemon.wire(), daemon.login()]
  if (!wire || !login) throw new RefusalError('page.none')
  const { code, until } = login.newCode({ workspaceId: entry.id as string, isAll })
  const page = `${daemon.http?.pageUrl ?? wire.url}/w/${encodeURIComponent(workspace)}/`
  return { url: `${page}?code=${code}`, until: new Date(until).toISOString() }
}

function httpStatus({ http, wire }: ControllableDaemon): OutputOf<'daemon.status'>['http'] {
  const served = wire()
  if (!served || !http) return undefined
  const { host, mayBeRemote, isOpen, allowOrigins, pageUrl, home } = http
  const { url, port } = served
  return { url, port, host, mayBeRemote, isOpen, allowOrigins: allowOrigins && [...allowOrigins], pageUrl, home }
}
