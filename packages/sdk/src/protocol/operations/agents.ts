// Operations on agents: taking a name, listing agents, revoking tokens, archiving an agent.

import { z } from 'zod'
import { Agent, AgentName, AgentProfile, Doing, Label, WorkspaceName } from '../words.ts'
import type { OperationTable } from './rule.ts'

export const agentOperations = {
  'agent.register': {
    kind: 'command',
    who: 'anyone',
    network: 'open',
    ownSession: true,
    summary:
      'Take a name: a new one, an offline one, or one whose token is shown. The session acts as that agent from then on.',
    input: AgentProfile.extend({
      token: z.string().max(200).optional(),
      /** Whether to refuse a name that another agent has. If false or unset, a number is added to the name. */
      strict: z.boolean().optional(),
    }),
    output: z.object({
      agent: z.string(),
      id: z.string(),
      token: z.string().optional(),
      because: z.string().optional().describe('Why a person has another name here.'),
    }),
  },
  'agent.list': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    needsNoStoredAgent: 'always',
    summary: 'Agents with their state, newest call first.',
    input: z.object({
      includeIdle: z.boolean().optional(),
      includeOffline: z.boolean().optional(),
      /** Whether to show each agent's whole task instead of its first line. */
      whole: z.boolean().optional(),
      /** The agent to list, also if it is offline. Unset: several agents. */
      name: AgentName.optional(),
      project: WorkspaceName.optional(),
    }),
    output: z.object({
      agents: z.array(Agent),
      /**
       * Addresses of connected agents in other workspaces, such as `api:Bob`, to which the caller may write. Set only if no other agent is connected in this
       * workspace.
       */
      abroad: z.array(z.string()).optional(),
    }),
  },
  'agent.brief': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    byHook: 'always',
    summary:
      'Your own situation in a few lines, for a model whose memory was cut: who you are, who hired you and for what, open answers, unread messages, workers and runs.',
    /**
     * `after`: how the model's memory was cut. If it is unset, the brief (a summary of the agent's situation) is returned only if the agent's CLI has reported
     * a cut and the agent was not briefed since.
     */
    input: z.object({ after: z.enum(['compact', 'resume', 'clear']).optional() }),
    /** The brief. Empty if none is due, or if another session of the agent got the brief a moment ago. */
    output: z.object({ text: z.string() }),
  },
  'agent.show': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    byHook: 'always',
    summary:
      'Say what your own session does now, as the plugin of its CLI does: lists of agents show it until the session ends.',
    input: z.object({ state: Doing.shape.state, for: Label.optional() }),
    output: z.object({}),
  },
  'agent.revoke': {
    kind: 'command',
    who: 'holder',
    network: 'key',
    summary: 'Make all tokens of an agent invalid, and end the sessions that have shown one.',
    input: z.object({ name: AgentName }),
    output: z.object({ agent: z.string() }),
  },
  'agent.retire': {
    kind: 'command',
    who: 'holder',
    network: 'key',
    summary:
      'Take an agent that is away out of every list, for good. Its messages stay; its name is free again only if no message, run, worker, action or agent names it.',
    input: z.object({ name: AgentName }),
    output: z.object({ agent: z.string(), isFree: z.boolean() }),
  },
} satisfies OperationTable
