// A policy is what a workspace's owner allows; here it is a schema and a type. It has no behaviour.

import { z } from 'zod'
import { Delegation } from './approvals.ts'
import { limits } from './limits.ts'
import { AgentName, WorkspaceName } from './words.ts'

/** What a workspace allows beyond what every agent may do. */
export const Policy = z.object({
  /** Whose terminals an agent may see, by its name; `*` stands for all, on either side. A parent always sees its own workers. */
  terminal: z.record(z.union([z.literal('*'), AgentName]), z.array(z.union([z.literal('*'), AgentName])).max(1_000)),
  /** The workspaces whose key holders may write here, over the network too; `*` stands for all of this daemon. */
  writers: z.union([z.literal('*'), z.array(WorkspaceName).max(1_000)]),
  /** What an agent's token may start over HTTP and WebSocket: no program, or the named CLIs in the project's directory. */
  spawn: z.enum(['none', 'clis']),
  /** Does a worker get a git worktree of its own, where nobody says otherwise and there is a repository? */
  worktree: z.boolean(),
  /** What happens when an agent is about to edit a file that another has claimed: nothing, both are told, or the edit is denied; strict: also git commands. */
  claims: z.enum(['off', 'warn', 'deny', 'strict']),
  /** Which agents may answer approvals of their own workers. Only a person at the page or a terminal changes it. */
  approve: z.array(Delegation).max(limits.delegationsMax),
})
export type Policy = z.infer<typeof Policy>
