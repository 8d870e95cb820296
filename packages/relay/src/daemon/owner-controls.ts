// The requests of the owner to the daemon itself: workspaces, keys, the page's links, the daemon's state and its end. daemon.ts composes all of it.

import { join } from 'node:path'
import { type Env, homeWorkspace, projectDir, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { type AgentProcesses, assertPerson, speakerAt } from '../broker/sessions/person.ts'
import type { Workspace } from '../broker/workspace.ts'
import { nearest } from '../core/nearest.ts'
import { bareText, RefusalError } from '../core/refusal-error.ts'
import { ownerOf, setOwner } from '../machine/config.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { version } from '../machine/version.ts'
import { idOf } from '../store/contents.ts'
import { copyInThread } from '../store/snapshot.ts'
import type { HttpOptions, HttpWire } from '../wires/http.ts'
import type { PageLogin } from '../wires/page-login.ts'
import { isBlankHome } from './backup.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { Controls } from './control-socket.ts'
import type { KnownWorkspaces } from './known-workspaces.ts'
import { entriesOf, listed } from './listing.ts'
import { usersOf, workersOf } from './open-workspace.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import { move, reconcile } from './owner-moves.ts'
import { Pruning } from './pruning.ts'
import { troubleOf } from './shared-trouble.ts'

/** The daemon, as far as these requests need it. */
export interface OwnedDaemon {
  dataDir: string
  http?: Pick<HttpOptions, 'host' | 'mayBeRemote' | 'isOpen' | 'allowOrigins' | 'pageUrl'> & { home?: string }
  directory: DataDirectory
  known: KnownWorkspaces
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace; created: boolean; key?: string }>
  workspaces: Pick<OpenWorkspaces, 'names' | 'sockets' | 'pin' | 'visit' | 'close'>
  cluster: ClusterAccess
  remove(name: string, isForced?: boolean): Promise<void>
  /** The name of the workspace that has this key. */
  find(key: string): Promise<string | undefined>
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

type Copied = OutputOf<'workspace.copy'>

const homeStays = 'agents outside a project meet in this workspace, so it stays open.'

export function ownerControls(daemon: OwnedDaemon): Controls {
  const { dataDir } = daemon
  return {
    ...workspaceControls(daemon),
    'daemon.status': () => ({
      version,
      pid: process.pid,
      uptimeMs: daemon.uptimeMs(),
      dataDir,
      http: httpStatus(daemon),
      residentMb: Math.round(process.memoryUsage.rss() / 1e6),
      lagMs: daemon.lag(),
      path: daemon.env.PATH,
      ...(daemon.endsUnattended ? { endsUnattended: true } : {}),
      workspaces: entriesOf(daemon),
    }),
    'page.link': async ({ workspace, only = false }, asker) => {
      const { agentProcesses: agents } = daemon
      await assertPerson(speakerAt(asker, agents), agents)
      mustKnow(daemon, workspace)
      return pageLink(daemon, workspace, !only)
    },
    'daemon.person': async ({ script }, asker) => {
      const { agentProcesses: agents } = daemon
      await assertPerson(speakerAt(asker, agents), agents, { takesScript: script })
      return {}
    },
    'page.logout': () => {
      daemon.login()?.logoutAll()
      return { ended: daemon.wire()?.endPages() ?? 0 }
    },
    'daemon.stop': () => {
      setImmediate(() => daemon.stop())
      return { stopping: true }
    },
  }
}

type WorkspaceControls = Pick<Controls, Extract<keyof Controls, `workspace.${string}`>>

function workspaceControls(daemon: OwnedDaemon): WorkspaceControls {
  const { dataDir, directory } = daemon
  const pruning = new Pruning(daemon)
  return {
    'workspace.open': async ({ workspace, directory: owner, mustExist, local }) => {
      if (mustExist && !isKnown(daemon, workspace) && !(await daemon.cluster.take(workspace)))
        mustKnow(daemon, workspace)
      const { created } = await daemon.cluster.asMeant(workspace, local, () => daemon.open(workspace))
      if (owner !== undefined && workspace !== homeWorkspace) setOwner(dataDir, workspace, owner)
      return { ...daemon.entry(workspace), created }
    },
    'workspace.create': async ({ workspace, local }) => {
      const path = directory.database(workspace)
      if (isThere(daemon, workspace)) throw new RefusalError('workspace.exists', { workspace, path })
      const { entry, key } = await daemon.cluster.asMeant(workspace, local, () => daemon.open(workspace))
      // Another request has created the workspace meanwhile.
      if (key === undefined) throw new RefusalError('workspace.exists', { workspace, path })
      return { ...entry, key }
    },
    'workspace.close': async ({ workspace, force = false }) => {
      mustKnow(daemon, workspace)
      if (workspace === homeWorkspace)
        throw new RefusalError('input.invalid', { operation: 'workspace.close', why: homeStays })
      await daemon.workspaces.close(workspace, force)
      return daemon.entry(workspace)
    },
    'workspace.remove': async ({ workspace, force }) => {
      mustKnow(daemon, workspace)
      const { path } = daemon.entry(workspace)
      await daemon.remove(workspace, force)
      // Agents outside a project need the home: it is made again at once, empty.
      if (workspace === homeWorkspace) await daemon.open(workspace)
      return { workspace, path }
    },
    'workspace.share': ({ workspace, force }) => move(daemon, mustKnow(daemon, workspace), 'share', force),
    'workspace.unshare': ({ workspace, force }) => move(daemon, mustKnow(daemon, workspace), 'unshare', force),
    'workspace.hand-over': ({ workspace, machine }) => daemon.cluster.handOver(mustKnow(daemon, workspace), machine),
    'workspace.reconcile': ({ workspace, force }) => reconcile(daemon, mustKnow(daemon, workspace), force),
    'workspace.rotate-key': ({ workspace }) => rotateKey(daemon, mustKnow(daemon, workspace)),
    'workspace.copy': ({ workspace, to }) => copy(daemon, mustKnow(daemon, workspace), to),
    'workspace.prune': ({ workspace, ...wish }) => pruning.prune(mustKnow(daemon, workspace), wish),
    'workspace.place': async ({ workspace, from, key, local }) => {
      if (!local) await daemon.cluster.mustBeFree(workspace, { placing: true })
      await place(daemon, workspace, from, key)
      return (await daemon.open(workspace)).entry
    },
    'workspace.find': async ({ key }) => {
      const found = await daemon.find(key)
      if (found === undefined)
        throw new RefusalError('auth.denied', { why: 'no workspace that is open here has this key.' })
      return daemon.entry(found)
    },
    'workspace.list': () => listed(daemon),
  }
}

function isThere({ entry, directory }: OwnedDaemon, name: string): boolean {
  return entry(name).open || directory.has(name)
}

function isKnown(daemon: OwnedDaemon, workspace: string): boolean {
  return workspace === homeWorkspace || isThere(daemon, workspace) || daemon.known.has(workspace)
}

function mustKnow(daemon: OwnedDaemon, workspace: string): string {
  if (isKnown(daemon, workspace)) return workspace
  const names = entriesOf(daemon).map(({ name }) => name)
  throw new RefusalError('workspace.unknown', { workspace, nearest: nearest(workspace, names) })
}

/** A workspace's entry in the owner's list of workspaces. */
export function entryOf(name: string, dataDir: string, served: OpenWorkspaces, cluster: ClusterAccess): WorkspaceEntry {
  const id = served.idOf(name)
  const opened = served.opened(name)
  const fault = served.sockets.faultOf(name)
  const reconciling = cluster.progressOf(name)
  const [users, workers] = opened ? [usersOf(opened), workersOf(opened.workspace)] : [[], []]
  return {
    name,
    id,
    open: id !== undefined,
    ...(served.isAtRest(name) ? { atRest: true } : {}),
    ...(fault ? { fault: bareText(fault) } : {}),
    ...(cluster.isShared(name) ? { shared: true } : {}),
    ...(reconciling ? { reconciling } : {}),
    ...(opened ? troubleOf(opened.workspace) : {}),
    ...(users.length > 0 ? { users } : {}),
    ...(workers.length > 0 ? { workers } : {}),
    directory: ownerOf(dataDir, name),
    socketPath: socketPathOf(dataDir, name),
    path: projectDir(dataDir, name),
  }
}

/** Makes a new key. If it could not be made valid, the owner's file gets the former one back. */
async function rotateKey(daemon: OwnedDaemon, name: string): Promise<OutputOf<'workspace.rotate-key'>> {
  const { known } = daemon
  const release = daemon.workspaces.pin(name)
  try {
    const { entry, workspace } = await daemon.open(name)
    const former = known.keyOf(workspace.id)
    const keep = (key: string) => known.keep(workspace.id, name, key)
    const key = await workspace
      .rotateKey((_, made) => keep(made))
      .catch((error) => {
        if (former !== undefined) keep(former)
        throw error
      })
    // Ends all pages, even those that look at another workspace through this one's link: the new key is no event to them.
    daemon.wire()?.endPages()
    return { ...entry, key }
  } finally {
    release()
  }
}

/** Copies a workspace's database. If the workspace is closed, its file is copied as it is. */
async function copy({ workspaces, directory, known }: OwnedDaemon, workspace: string, path: string): Promise<Copied> {
  const fault = known.faultOf(workspace)
  if (fault) throw fault
  const copied = await workspaces.visit(workspace, ({ workspace }) => workspace.store.copyTo(path).then(() => true))
  if (!copied) await copyInThread(directory.database(workspace), path)
  return { workspace, path }
}

/** Places a workspace from a backup. Only the id is read from its database: this is the event loop, and the file may be large. */
async function place(daemon: OwnedDaemon, workspace: string, from: string, key: string): Promise<void> {
  const { directory, known } = daemon
  const id = directory.isNewFolder(from) ? idOf(join(from, 'relay.db')) : undefined
  if (id === undefined)
    throw new RefusalError('input.invalid', { operation: 'workspace.place', why: `${from} was not prepared for this` })
  if (!isBlankHome(directory, workspace)) return known.placeRestored(workspace, from, { id, key })
  await daemon.open(workspace)
  try {
    await daemon.workspaces.close(workspace, false, async () => {
      // Whether the home is blank is checked again now that it is closed: somebody may have used it.
      known.placeRestored(workspace, from, { id, key }, isBlankHome(directory, workspace))
      daemon.wire()?.endPages()
    })
  } finally {
    await daemon.open(workspace)
  }
}

async function pageLink(daemon: OwnedDaemon, workspace: string, isAll: boolean): Promise<OutputOf<'page.link'>> {
  const { entry } = await daemon.open(workspace)
  const [wire, login] = [daemon.wire(), daemon.login()]
  if (!wire || !login) throw new RefusalError('page.none')
  const { code, until } = login.newCode({ workspaceId: entry.id as string, isAll })
  const page = `${daemon.http?.pageUrl ?? wire.url}/w/${encodeURIComponent(workspace)}/`
  return { url: `${page}?code=${code}`, until: new Date(until).toISOString() }
}

function httpStatus({ http, wire }: OwnedDaemon): OutputOf<'daemon.status'>['http'] {
  const served = wire()
  if (!served || !http) return undefined
  const { host, mayBeRemote, isOpen, allowOrigins, pageUrl, home } = http
  const { url, port } = served
  return { url, port, host, mayBeRemote, isOpen, allowOrigins: allowOrigins && [...allowOrigins], pageUrl, home }
}
