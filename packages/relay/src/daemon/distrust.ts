// What a workspace from a backup loses, unless its owner's own key opens it: every token, and what its policy allows to others. Whoever made the
// file chose both, and would keep a way in. Its key: backup.ts.

import { daemonName, type Fact, type Policy } from '@agent-relay/sdk/protocol'
import type { Workspace } from '../broker/workspace.ts'
import { firstPolicy } from '../core/workspaces.ts'

/** Agents that one entry tells of. */
const agentsPerEntry = 500
/** The parts of a policy that let somebody do something. */
const grants = ['approve', 'spawn', 'writers', 'terminal'] as const

export interface Reset {
  /** How many there were. */
  tokens: number
  /** The parts of the policy that were not as in a new workspace. */
  policy: (typeof grants)[number][]
}

export const nothingReset: Reset = { tokens: 0, policy: [] }

/** Nobody is connected yet, so there is nobody to tell and no command to answer. */
export function distrust({ store, clock, ids }: Workspace): Reset {
  const before = store.view.policy()
  const policy = grants.filter((part) => JSON.stringify(before[part]) !== JSON.stringify(firstPolicy[part]))
  const tokens = store.queries.tokenHashes().length
  const facts = [...store.view.agents()].map(({ name }): Fact => ({ type: 'agent.tokens-revoked', agent: name }))
  if (policy.length > 0) facts.push({ type: 'workspace.policy-set', policy: reset(before) })
  store.transact(() => {
    for (let from = 0; from < facts.length; from += agentsPerEntry)
      store.append({
        ...{ at: clock.now(), by: daemonName, cause: ids('d'), rule: 'workspace.restore', outcome: {} },
        facts: facts.slice(from, from + agentsPerEntry),
      })
    store.forgetTokens()
  })
  return { tokens, policy }
}

function reset(before: Policy): Policy {
  return { ...before, ...Object.fromEntries(grants.map((part) => [part, firstPolicy[part]])) }
}
