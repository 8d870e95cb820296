// Takes running work and rights out of a workspace that is restored from a backup. Workers and runs always end: they belong to another disk, or to another time
// on this one. If the owner's key does not open the workspace, all tokens are revoked, and the policy grants nothing to others: whoever made the backup chose
// them and would keep access. backup.ts decides about the workspace's key.

import { daemonName, type Fact, type Policy } from '@agent-relay/sdk/protocol'
import type { Workspace } from '../broker/workspace.ts'
import { defaultPolicy } from '../core/workspaces.ts'

/** Maximum number of facts in one entry. */
const factsPerEntry = 500
/** The fields of a policy that grant rights to others. */
const grants = ['approve', 'spawn', 'writers', 'terminal'] as const

export interface CredentialReset {
  /** Number of deleted tokens. */
  tokens: number
  /** The parts of the policy that differed from the default, and were set back to it. */
  policy: (typeof grants)[number][]
}

export const emptyCredentialReset: CredentialReset = { tokens: 0, policy: [] }

const reason = 'the workspace was restored from a backup'

/**
 * Ends all workers and runs, and gives up their files on disk: programs and worktrees of the original workspace may still exist, and the restored one must not
 * touch them. Resolves to the number of worktrees given up.
 */
export async function endRestoredWork(workspace: Workspace): Promise<number> {
  const { store, workers, runs } = workspace
  const worktrees = store.view.workers.withWorktree().length
  for (const { id } of store.view.workers.running()) await workers.reports.report({ id, status: 'exited', reason })
  for (const { id, harness } of store.view.runs.running())
    if (harness !== 'external') await runs.reports.end(id, `T${reason.slice(1)}.`)
  appendFacts(workspace, [{ type: 'workspace.restored' }])
  return worktrees
}

/** Appends facts without a command: nobody is connected yet, so nobody needs an answer or an event. */
function appendFacts({ store, clock, ids }: Workspace, facts: readonly Fact[]): void {
  store.transact(() => {
    for (let from = 0; from < facts.length; from += factsPerEntry)
      store.append({
        ...{ at: clock.now(), by: daemonName, cause: ids('d'), rule: 'workspace.restore', outcome: {} },
        facts: facts.slice(from, from + factsPerEntry),
      })
  })
}

export function dropCredentials(workspace: Workspace): CredentialReset {
  const { store } = workspace
  const before = store.view.policy()
  const policy = grants.filter((part) => JSON.stringify(before[part]) !== JSON.stringify(defaultPolicy[part]))
  const tokens = store.queries.tokenHashes().length
  const facts = [...store.view.agents()].map(({ name }): Fact => ({ type: 'agent.tokens-revoked', agent: name }))
  if (policy.length > 0) facts.push({ type: 'workspace.policy-set', policy: withoutGrants(before) })
  appendFacts(workspace, facts)
  store.forgetTokens()
  return { tokens, policy }
}

function withoutGrants(before: Policy): Policy {
  return { ...before, ...Object.fromEntries(grants.map((part) => [part, defaultPolicy[part]])) }
}
