// The policy of a workspace, as a schema and a type: what its owner allows. No behaviour.

import { z } from 'zod'
import { Delegation } from './approvals.ts'
import { limits } from './limits.ts'
import { AgentName, WorkspaceName } from './words.ts'

/** A workspace's policy: the owner's choices about what agents and other workspaces may do in this workspace, and about defaults. */
export const Policy = z.object({
  /**
   * For each agent (by name) the agents whose terminals it may see. `*` stands for all, as the seeing agent or as the seen one. A parent always sees the
   * terminals of its own workers.
   */
  terminal: z.record(z.union([z.literal('*'), AgentName]), z.array(z.union([z.literal('*'), AgentName])).max(1_000)),
  /** The workspaces from which messages may be sent to this one, by holders of their keys; also over the network. `*`: all workspaces of this daemon. */
  writers: z.union([z.literal('*'), z.array(WorkspaceName).max(1_000)]),
  /**
   * The programs that an agent with a token may start over HTTP and WebSocket. none: no programs. clis: the CLIs that the relay knows, in the project's
   * directory.
   */
  spawn: z.enum(['none', 'clis']),
  /** Whether workers get git worktrees of their own by default, if their directories are in git repositories. */
  worktree: z.boolean(),
  /**
   * What happens if an agent edits a file that another agent has claimed. off: nothing. warn: both agents are told. deny: the edit is denied. strict: git
   * commands are denied too.
   */
  claims: z.enum(['off', 'warn', 'deny', 'strict']),
  /** Delegations: rights of agents to answer approvals of their own workers. Only a person at the page or a terminal can change this list. */
  approve: z.array(Delegation).max(limits.delegationsMax),
  /** How long finished things stay in the database, in ms. Each day, older ones are moved to the archive. Unset: for ever. */
  keepMs: z.number().int().min(limits.keepMsMin).optional(),
})
export type Policy = z.infer<typeof Policy>
