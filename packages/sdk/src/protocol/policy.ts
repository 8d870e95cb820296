// The policy of a workspace, as a schema and a type: what its owner allows. No behaviour.

import { z } from 'zod'
import { Delegation } from './approvals.ts'
import { limits } from './limits.ts'
import { AgentName, WorkspaceName } from './words.ts'

/** A workspace's policy: what agents and others may do in it beyond what every agent may do. */
export const Policy = z.object({
  /** For each agent, by name, the agents whose terminals it may see; `*` stands for all, on either side. A parent always sees its own workers. */
  terminal: z.record(z.union([z.literal('*'), AgentName]), z.array(z.union([z.literal('*'), AgentName])).max(1_000)),
  /** The workspaces whose key holders may send messages to this workspace, over the network too; `*` stands for all workspaces of this daemon. */
  writers: z.union([z.literal('*'), z.array(WorkspaceName).max(1_000)]),
  /** The programs that an agent's token may start over HTTP and WebSocket: none, or the named CLIs in the project's directory. */
  spawn: z.enum(['none', 'clis']),
  /** Whether a worker gets a git worktree of its own, if its spawner says nothing and its directory is in a git repository. */
  worktree: z.boolean(),
  /**
   * What happens if an agent edits a file that another agent has claimed. off: nothing. warn: both agents are told. deny: the edit is denied. strict: git
   * commands are denied too.
   */
  claims: z.enum(['off', 'warn', 'deny', 'strict']),
  /** Delegations: the agents that may answer approvals of their own workers. Only a person at the page or a terminal can change this. */
  approve: z.array(Delegation).max(limits.delegationsMax),
  /** How long what is over is kept: each day what is older goes into the archive. Unset: for ever. */
  keepMs: z.number().int().min(limits.keepMsMin).optional(),
})
export type Policy = z.infer<typeof Policy>
