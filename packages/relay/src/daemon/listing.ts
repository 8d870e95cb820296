// Lists the workspaces of this machine, and those of its cluster that nobody has opened here.

import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { RefusalError, refusalTextWithoutFix, toRefusal } from '../core/refusal-error.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { resultWithin } from '../machine/within.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { workspaceFileBytes } from './file-bytes.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** Maximum time in ms that a list of workspaces waits for the cluster. Its usual timeouts would delay the list much longer. */
const clusterNamesMs = 3_000

interface ListingSource {
  directory: DataDirectory
  workspaces: Pick<OpenWorkspaces, 'names' | 'sockets'>
  cluster: ClusterAccess
  entry(name: string): WorkspaceEntry
}

export function workspaceEntries(daemon: Omit<ListingSource, 'cluster'>): WorkspaceEntry[] {
  const names = new Set([
    ...daemon.directory.workspaces(),
    ...daemon.workspaces.names(),
    ...daemon.workspaces.sockets.faultyNames(),
  ])
  return [...names].sort().map((name) => {
    const entry = daemon.entry(name)
    return { ...entry, bytes: workspaceFileBytes(entry.path) }
  })
}

/**
 * Returns the list of workspaces. If the cluster does not answer, its workspaces that are not on this machine are left out; the check for equal names uses the
 * names that it gave last.
 */
export async function listWorkspaces(daemon: ListingSource): Promise<OutputOf<'workspace.list'>> {
  const marked = (own: WorkspaceEntry[], names: readonly string[]) =>
    own.map((each) => (!each.shared && names.includes(each.name) ? { ...each, shadows: true } : each))
  try {
    const found = await clusterIdsByName(daemon.cluster)
    // This machine's workspaces are read last, since they may change while the cluster answers.
    const own = workspaceEntries(daemon)
    const isHere = (name: string) => own.some((each) => each.name === name && each.shared)
    const others = [...found].filter(([name]) => !isHere(name)).sort()
    const theirs = others.map(([name, id]) => {
      const { socketPath, path } = daemon.entry(name)
      return { name, id, open: false, shared: true, socketPath, path }
    })
    return { workspaces: [...marked(own, [...found.keys()]), ...theirs] }
  } catch (error) {
    const workspaces = marked(workspaceEntries(daemon), daemon.directory.lastSharedNames())
    return { workspaces, clusterFault: refusalTextWithoutFix(toRefusal(error)) }
  }
}

async function clusterIdsByName(cluster: ClusterAccess): Promise<Map<string, string>> {
  const found = await resultWithin(cluster.idsByName(), clusterNamesMs)
  if (found) return found
  throw new RefusalError('cluster.unreachable', { workspace: 'the cluster', why: 'it has not answered yet' })
}
