// What the owner may ask of the daemon itself: workspaces, keys, the page's links, its state, its end. Composing all that is daemon.ts's affair.

import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import type { Controls } from './broker/control.ts'
import type { Workspace } from './broker/workspace.ts'
import { setOwner } from './config.ts'
import type { CredentialsFile } from './credentials-file.ts'
import type { DataDirectory } from './data-directory.ts'
import { RefusalError } from './refusal-error.ts'
import { version } from './version.ts'
import type { HttpOptions, HttpWire } from './wires/http.ts'
import type { PageLogin } from './wires/page-login.ts'

/** The daemon, as far as its owner's questions need it. */
export interface OwnersView {
  dataDir: string
  http?: Pick<HttpOptions, 'host' | 'mayBeRemote' | 'isOpen' | 'allowOrigins'> & { home?: string }
  directory: DataDirectory
  credentials: CredentialsFile
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace; created: boolean; key?: string }>
  remove(name: string, isForced?: boolean): Promise<void>
  /** Those that are open. */
  workspaces(): Workspace[]
  entry(name: string): WorkspaceEntry
  wire(): HttpWire | undefined
  login(): PageLogin | undefined
  uptimeMs(): number
  lag(): OutputOf<'daemon.status'>['lagMs']
  stop(): void
}

export function ownerControls(daemon: OwnersView): Controls {
  const { dataDir, directory } = daemon
  const isKnown = (name: string) => daemon.entry(name).open || directory.has(name)
  return {
    'workspace.open': async ({ workspace, directory: owner }) => {
      const { entry, created } = await daemon.open(workspace)
      if (owner !== undefined) setOwner(dataDir, workspace, owner)
      return { ...entry, created }
    },
    'workspace.create': async ({ workspace }) => {
      const path = directory.database(workspace)
      if (isKnown(workspace)) throw new RefusalError('workspace.exists', { workspace, path })
      const { entry, key } = await daemon.open(workspace)
      return { ...entry, key: key as string }
    },
    'workspace.remove': async ({ workspace, force }) => {
      if (!isKnown(workspace)) throw new RefusalError('workspace.unknown', { workspace })
      const { path } = daemon.entry(workspace)
      await daemon.remove(workspace, force)
      return { workspace, path }
    },
    'workspace.rotate-key': ({ workspace }) => {
      if (!isKnown(workspace)) throw new RefusalError('workspace.unknown', { workspace })
      return rotateKey(daemon, workspace)
    },
    'workspace.find': ({ key }) => {
      const found = daemon.workspaces().find((workspace) => workspace.isKey(key))
      if (!found) throw new RefusalError('auth.denied', { why: 'no workspace that is open here has this key.' })
      return daemon.entry(found.name)
    },
    'workspace.list': () => ({ workspaces: entriesOf(daemon) }),
    'daemon.status': () => ({
      version,
      pid: process.pid,
      uptimeMs: daemon.uptimeMs(),
      dataDir,
      http: httpStatus(daemon),
      residentMb: Math.round(process.memoryUsage.rss() / 1e6),
      lagMs: daemon.lag(),
      workspaces: entriesOf(daemon),
    }),
    'page.link': ({ workspace }) => pageLink(daemon, workspace),
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

function entriesOf(daemon: OwnersView): WorkspaceEntry[] {
  const open = daemon.workspaces().map(({ name }) => name)
  return [...new Set([...daemon.directory.workspaces(), ...open])].sort().map((name) => daemon.entry(name))
}

/** A new key that could not be made valid is not left in the owner's file. */
async function rotateKey(daemon: OwnersView, name: string): Promise<OutputOf<'workspace.rotate-key'>> {
  const { credentials } = daemon
  const { entry, workspace } = await daemon.open(name)
  const former = credentials.keyOf(workspace.id)
  try {
    const key = await workspace.rotateKey((id, made) => credentials.put(id, name, made))
    return { ...entry, key }
  } catch (error) {
    if (former !== undefined) credentials.put(workspace.id, name, former)
    throw error
  }
}

async function pageLink(daemon: OwnersView, workspace: string): Promise<OutputOf<'page.link'>> {
  const { entry } = await daemon.open(workspace)
  const [wire, login] = [daemon.wire(), daemon.login()]
  if (!wire || !login) throw new RefusalError('page.none')
  if (daemon.http?.isOpen) return { url: `${wire.url}/` }
  const { code, until } = login.newCode(entry.id as string)
  return { url: `${wire.url}/?code=${code}`, until: new Date(until).toISOString() }
}

function httpStatus({ http, wire }: OwnersView): OutputOf<'daemon.status'>['http'] {
  const served = wire()
  if (!served || !http) return undefined
  const { host, mayBeRemote, isOpen, allowOrigins, home } = http
  const { url, port } = served
  return { url, port, host, mayBeRemote, isOpen, allowOrigins: allowOrigins && [...allowOrigins], home }
}
