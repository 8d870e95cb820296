// What a person sees of each workspace without opening it: who is connected, and how much waits for the person. What waits in a workspace at rest was counted before
// it was put to rest, since nothing can change in it meanwhile.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import { countNeeds } from '../broker/approvals/needs.ts'
import { ReadTimeBudget } from '../broker/long-reads.ts'
import { connectedAgentsIn } from '../broker/presence/other-workspaces.ts'
import type { Workspace } from '../broker/workspace.ts'
import { runAllSteps } from '../core/steps.ts'
import type { LastGlance } from './open-workspace.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

type WorkspaceGlance = OutputOf<'workspace.overview'>['workspaces'][number]

export async function overviewOf(
  workspaces: Pick<OpenWorkspaces, 'names' | 'findOpen' | 'lastGlance'>,
  person: string,
  names: readonly string[] = workspaces.names(),
): Promise<OutputOf<'workspace.overview'>> {
  const found = names.map(async (name): Promise<WorkspaceGlance> => {
    const workspace = workspaces.findOpen(name)?.workspace
    if (!workspace) return { name, atRest: true, agents: [], needs: workspaces.lastGlance(name)?.needs ?? 0 }
    return { name, agents: connectedAgentsIn(workspace), needs: await needsIn(workspace, person) }
  })
  return { workspaces: (await Promise.all(found)).sort((a, b) => a.name.localeCompare(b.name)) }
}

/** Counts what waits in an open workspace. One that cannot be read has nothing that waits: whoever opens it is told what is wrong. */
function needsIn(workspace: Workspace, person: string): Promise<number> {
  const { signal } = new AbortController()
  return workspace.reads.run(countNeeds(workspace, person), new ReadTimeBudget(), signal).catch(() => 0)
}

/** Looks at a workspace that may be put to rest. It counts in slices, and the workspace may change meanwhile: `seq` tells. */
export async function glanceAt(workspace: Workspace, person: string): Promise<LastGlance> {
  const { lastSeq: seq } = workspace.store.journal
  return { seq, needs: await needsIn(workspace, person) }
}

/** The same without a pause, for a workspace whose files must be closed at once. */
export function glanceAtOnce(workspace: Workspace, person: string): LastGlance {
  const { lastSeq: seq } = workspace.store.journal
  try {
    const { keepMs } = workspace.store.view.policy()
    return { seq, needs: runAllSteps(countNeeds(workspace, person)), keepMs }
  } catch {
    return { seq, needs: 0 }
  }
}
