// What a person sees of each workspace without opening it: connected agents, and the number of needs (things that wait for the person). For a workspace that
// was closed for lack of use, this number was counted before it was closed: nothing changes in it meanwhile.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import { countNeeds } from '../broker/approvals/needs.ts'
import { ReadTimeBudget } from '../broker/long-reads.ts'
import { connectedAgentsIn } from '../broker/presence/other-workspaces.ts'
import type { Workspace } from '../broker/workspace.ts'
import { runAllSteps } from '../core/steps.ts'
import type { RestSummary } from './open-workspace.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

type WorkspaceSummary = OutputOf<'workspace.overview'>['workspaces'][number]

export async function overviewOf(
  workspaces: Pick<OpenWorkspaces, 'names' | 'findOpen' | 'restSummary'>,
  person: string,
  names: readonly string[] = workspaces.names(),
): Promise<OutputOf<'workspace.overview'>> {
  const found = names.map(async (name): Promise<WorkspaceSummary> => {
    const workspace = workspaces.findOpen(name)?.workspace
    if (!workspace) return { name, atRest: true, agents: [], needs: workspaces.restSummary(name)?.needs ?? 0 }
    return { name, agents: connectedAgentsIn(workspace), needs: await needsIn(workspace, person) }
  })
  return { workspaces: (await Promise.all(found)).sort((a, b) => a.name.localeCompare(b.name)) }
}

/** Counts the person's needs in an open workspace. If it cannot be read the count is 0: a client that opens it gets the error. */
function needsIn(workspace: Workspace, person: string): Promise<number> {
  const { signal } = new AbortController()
  return workspace.reads.run(countNeeds(workspace, person), new ReadTimeBudget(), signal).catch(() => 0)
}

/**
 * Reads what is remembered of a workspace that may be closed for lack of use. This takes several steps, and the workspace may change in between: then its last
 * entry differs from `seq`.
 */
export async function readRestSummary(workspace: Workspace, person: string): Promise<RestSummary> {
  const kept = journalEndAndPolicy(workspace)
  return { ...kept, needs: await needsIn(workspace, person) }
}

/** Reads what is remembered of a workspace in one step, if its files must be closed at once. */
export function readRestSummaryAtOnce(workspace: Workspace, person: string): RestSummary {
  const kept = journalEndAndPolicy(workspace)
  try {
    return { ...kept, needs: runAllSteps(countNeeds(workspace, person)) }
  } catch {
    return { ...kept, needs: 0 }
  }
}

/** Reads the number of the last journal entry, and how long the policy keeps finished events; only the number if the policy cannot be read. */
function journalEndAndPolicy({ store }: Workspace): Pick<RestSummary, 'seq' | 'keepMs'> {
  const { lastSeq: seq } = store.journal
  try {
    return { seq, keepMs: store.view.policy().keepMs }
  } catch {
    return { seq }
  }
}
