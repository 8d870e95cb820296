// The workspaces of this machine in a list, and those of its cluster that nobody has opened here.

import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { bareText, refusalOf } from '../core/refusal-error.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { fileBytes } from './file-bytes.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

interface Listing {
  directory: DataDirectory
  workspaces: Pick<OpenWorkspaces, 'names' | 'sockets'>
  cluster: ClusterAccess
  entry(name: string): WorkspaceEntry
}

export function entriesOf(daemon: Omit<Listing, 'cluster'>): WorkspaceEntry[] {
  const names = new Set([
    ...daemon.directory.workspaces(),
    ...daemon.workspaces.names(),
    ...daemon.workspaces.sockets.faulty(),
  ])
  return [...names].sort().map((name) => {
    const entry = daemon.entry(name)
    return { ...entry, bytes: fileBytes(entry.path) }
  })
}

/** Where the cluster does not answer, its workspaces that are not here are not shown; which of ours have the name of one is known from before. */
export async function listed(daemon: Listing): Promise<OutputOf<'workspace.list'>> {
  const own = entriesOf(daemon)
  const marked = (names: readonly string[]) =>
    own.map((each) => (!each.shared && names.includes(each.name) ? { ...each, shadows: true } : each))
  try {
    const found = await daemon.cluster.names()
    const isHere = (name: string) => own.some((each) => each.name === name && each.shared)
    const others = [...found].filter(([name]) => !isHere(name)).sort()
    const theirs = others.map(([name, id]) => {
      const { socketPath, path } = daemon.entry(name)
      return { name, id, open: false, shared: true, socketPath, path }
    })
    return { workspaces: [...marked([...found.keys()]), ...theirs] }
  } catch (error) {
    return { workspaces: marked(daemon.directory.lastShared()), clusterFault: bareText(refusalOf(error)) }
  }
}
