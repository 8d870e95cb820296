// Operations on the machines that share a workspace.

import { z } from 'zod'
import { type RequestKind, requestKinds } from '../requests.ts'
import { agentStates } from '../words.ts'
import { WorkspaceEntry } from '../workspace-entry.ts'
import type { OperationTable } from './rule.ts'

/**
 * The states of a machine. here: this machine. reached: its daemon was heard of just now. unreachable: its daemon is silent, so nobody knows what happens
 * there. closed: its daemon has stopped, or has closed this workspace. removed: it no longer belongs to the cluster.
 */
export const machineStates = ['here', 'reached', 'unreachable', 'closed', 'removed'] as const

const Machine = z.object({
  name: z.string(),
  state: z.enum(machineStates),
  /** The version of the daemon that last ran on the machine. */
  version: z.string().optional(),
  joinedAt: z.string().optional(),
  seenAt: z.string().optional().describe('When its daemon was last heard of, where it ever was.'),
  revokedAt: z.string().optional(),
  owns: z.boolean().describe('The workspace is its own.'),
  /**
   * The kinds of requests (such as answering approvals) that the listed machine may make of the machine that answers. Unset for the machine that answers, for a
   * removed machine, and until the cluster has said which machine has this name.
   */
  may: z
    .array(z.enum(requestKinds as [RequestKind, ...RequestKind[]]))
    .optional()
    .describe('What it may ask of the machine that answers.'),
  agents: z
    .array(z.object({ name: z.string(), status: z.enum(agentStates) }))
    .describe('The agents that belong to the machine, connected ones first.'),
})

export const machineOperations = {
  'machine.list': {
    kind: 'query',
    who: 'holder',
    network: 'key',
    summary:
      'The machines that share this workspace: which of them can be reached, which agents belong to each, and what each may ask of this one. None if it is not shared.',
    input: z.object({}),
    output: z.object({
      machines: z.array(Machine),
      ...WorkspaceEntry.pick({ stopped: true, cutOff: true }).shape,
      trouble: z.string().optional().describe('Why this machine cannot reach the others, as a text.'),
    }),
  },
} satisfies OperationTable
