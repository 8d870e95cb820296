// Lists the workspaces of this machine, and those of its cluster that nobody has opened here.

import { setTimeout as sleep } from 'node:timers/promises'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { bareText, RefusalError, refusalOf } from '../core/refusal-error.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { fileBytes } from './file-bytes.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** How long a list waits for the cluster's names. Behind other questions to a silent cluster it would wait many times as long. */
const namesMs = 3_000

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

/** The list of workspaces. While the cluster does not answer, its workspaces that are not here are left out, and shared names are those of its last answer. */
export async function listed(daemon: Listing): Promise<OutputOf<'workspace.list'>> {
  const marked = (own: WorkspaceEntry[], names: readonly string[]) =>
    own.map((each) => (!each.shared && names.includes(each.name) ? { ...each, shadows: true } : each))
  try {
    const found = await namesOf(daemon.cluster)
    // The own workspaces are read after the cluster has answered, which may take its time, so that they are current.
    const own = entriesOf(daemon)
    const isHere = (name: string) => own.some((each) => each.name === name && each.shared)
    const others = [...found].filter(([name]) => !isHere(name)).sort()
    const theirs = others.map(([name, id]) => {
      const { socketPath, path } = daemon.entry(name)
      return { name, id, open: false, shared: true, socketPath, path }
    })
    return { workspaces: [...marked(own, [...found.keys()]), ...theirs] }
  } catch (error) {
    const workspaces = marked(entriesOf(daemon), daemon.directory.lastShared())
    return { workspaces, clusterFault: bareText(refusalOf(error)) }
  }
}

async function namesOf(cluster: ClusterAccess): Promise<Map<string, string>> {
  const found = await Promise.race([cluster.names(), sleep(namesMs, undefined, { ref: false })])
  if (found) return found
  throw new RefusalError('cluster.unreachable', { workspace: 'the cluster', why: 'it has not answered yet' })
}
