// Operations on agents: taking a name, seeing who is there, taking tokens back.

import { z } from 'zod'
import { Agent, AgentName, AgentProfile, WorkspaceName } from '../words.ts'
import type { OperationTable } from './rule.ts'

export const agentOperations = {
  'agent.register': {
    kind: 'command',
    who: 'anyone',
    summary:
      'Take a name: a new one, an offline one, or one whose token is shown. The session acts as that agent from then on.',
    input: AgentProfile.extend({
      token: z.string().max(200).optional(),
      /** A taken name is refused instead of numbered. */
      strict: z.boolean().optional(),
    }),
    output: z.object({ agent: z.string(), id: z.string(), token: z.string().optional() }),
  },
  'agent.list': {
    kind: 'query',
    who: 'anyone',
    summary: 'Agents with their state, newest call first.',
    input: z.object({
      includeIdle: z.boolean().optional(),
      includeOffline: z.boolean().optional(),
      project: WorkspaceName.optional(),
    }),
    output: z.object({ agents: z.array(Agent) }),
  },
  'agent.revoke': {
    kind: 'command',
    who: 'holder',
    summary: 'Make all tokens of an agent invalid, and end the sessions that have shown one.',
    input: z.object({ name: AgentName }),
    output: z.object({ agent: z.string() }),
  },
} satisfies OperationTable
