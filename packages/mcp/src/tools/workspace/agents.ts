// The tools about agents: register_agent and list_agents.

import { AgentType, agentStates } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { listAnswer } from '../../text.ts'
import { defineEnvelopeTool } from '../tool.ts'

/** Makes the MCP client an agent, under the name it wants or that name with a number. */
export const registerAgentTool = defineEnvelopeTool({
  name: 'register_agent',
  title: 'Register as an agent',
  description: 'Take a name in this workspace. Call it first; a taken name gets a number.',
  input: z.object({
    name: z.string().min(1).describe('Letters, digits, . _ -'),
    handle: z.string().optional().describe('A second, unique name'),
    type: AgentType.optional(),
    channels: z.array(z.string()).optional().describe('Channels to join'),
  }),
  hints: { idempotent: true },
  worksWithoutAgent: true,
  run: async (client, profile) => {
    const { agent, id, agentToken } = await client.sessionServices.register(profile)
    const taken = agent === profile.name ? [] : [`${profile.name} is taken: you are ${agent}.`]
    const shown = agentToken === undefined ? [] : ['Pass agent_token to every tool; it is valid for a day.']
    const note = [...taken, ...shown].join(' ') || undefined
    return { agent, id, agent_token: agentToken, note }
  },
})

export const listAgentsTool = defineEnvelopeTool({
  name: 'list_agents',
  title: 'List agents',
  description: 'Agents with their session status. By default those that are online.',
  input: z.object({ status: z.enum([...agentStates, 'all']).optional() }),
  hints: { readOnly: true, idempotent: true },
  worksWithoutAgent: true,
  run: async (client, { status }) => {
    const includeOffline = status === 'offline' || status === 'unreachable' || status === 'all'
    const { agents: all, abroad } = await client.call('agent.list', { includeOffline })
    const chosen = status === undefined || status === 'all' ? all : all.filter((agent) => agent.status === status)
    const agents = chosen.map(({ name, handle, type, cli, status }) => ({ name, handle, type, cli, status }))
    return { ...listAnswer('agents', agents), abroad }
  },
})
