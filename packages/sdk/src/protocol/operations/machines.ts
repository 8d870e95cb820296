// Operations on the machines that share a workspace.

import { z } from 'zod'
import { type RequestKind, requestKinds } from '../requests.ts'
import { agentStates } from '../words.ts'
import { WorkspaceEntry } from '../workspace-entry.ts'
import type { OperationTable } from './rule.ts'

/**
 * The states of a machine. here: this machine. reached: its daemon was heard of just now. unreachable: its daemon is silent, so what happens on the machine is
 * not known. closed: its daemon has stopped, or does not have this workspace open. removed: it does not belong to the cluster any more.
 */
export const machineStates = ['here', 'reached', 'unreachable', 'closed', 'removed'] as const

const Machine = z.object({
  name: z.string(),
  state: z.enum(machineStates),
  /** The version of the machine's daemon when it was last started. */
  version: z.string().optional(),
  joinedAt: z.string().optional(),
  seenAt: z.string().optional().describe('When its daemon was last heard of, where it ever was.'),
  revokedAt: z.string().optional(),
  owns: z.boolean().describe('The workspace is its own.'),
  /**
   * What the machine may ask of the answering machine. Unset for the answering machine itself, for a removed machine, and if the cluster has not said yet which
   * machine has this name.
   */
  may: z
    .array(z.enum(requestKinds as [RequestKind, ...RequestKind[]]))
    .optional()
    .describe('What it may ask of the machine that answers.'),
  agents: z
    .array(z.object({ name: z.string(), status: z.enum(agentStates) }))
    .describe('Those that are at home there, the ones that are there first.'),
})

export const machineOperations = {
  'machine.list': {
    kind: 'query',
    who: 'holder',
    network: 'key',
    summary:
      'The machines that share this workspace: which are reached, who is at home there, and what each may ask of this one. None where it is not shared.',
    input: z.object({}),
    output: z.object({
      machines: z.array(Machine),
      ...WorkspaceEntry.pick({ stopped: true, cutOff: true }).shape,
      trouble: z.string().optional().describe('Why this machine is not in touch with the others, in words.'),
    }),
  },
} satisfies OperationTable
