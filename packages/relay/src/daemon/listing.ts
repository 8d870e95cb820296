// The workspaces of this machine in a list, and those of its cluster that nobody has opened here.

import { setTimeout as sleep } from 'node:timers/promises'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { bareText, RefusalError, refusalOf } from '../core/refusal-error.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { fileBytes } from './file-bytes.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** So long a list waits for the names that only the cluster has. Behind other questions to one that is silent it would wait for many times as long. */
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

/** Where the cluster does not answer, its workspaces that are not here are not shown; which of ours have the name of one is known from before. */
export async function listed(daemon: Listing): Promise<OutputOf<'workspace.list'>> {
  const marked = (own: WorkspaceEntry[], names: readonly string[]) =>
    own.map((each) => (!each.shared && names.includes(each.name) ? { ...each, shadows: true } : each))
  try {
    const found = await namesOf(daemon.cluster)
    // What is told of ours holds when it is told: the cluster may have taken its time.
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
