// register_agent: the current MCP client becomes a participant, under the name it wants or that name with a number.

import { AgentType } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const registerAgentTool = workspaceTool({
  name: 'register_agent',
  title: 'Register as an agent',
  description: 'Take a name in this workspace. Call it first; a taken name gets a number.',
  input: z.object({
    name: z.string().min(1).describe('Letters, digits, . _ -'),
    handle: z.string().optional().describe('A second, unique name'),
    type: AgentType.optional(),
    channels: z.array(z.string()).optional().describe('Channels to join'),
  }),
  output: { agent: z.string(), id: z.string(), agent_token: z.string().optional() },
  hints: { idempotent: true },
  isForAnyone: true,
  run: async (client, profile) => {
    const { agent, id, agentToken } = await client.desk.register(profile)
    const taken = agent === profile.name ? '' : ` (${profile.name} is taken)`
    const text = `You are ${agent}${taken}.`
    if (agentToken === undefined) return { text, agent, id }
    return {
      text: `${text} Pass agent_token to every tool; it is valid for a day.`,
      agent,
      id,
      agent_token: agentToken,
    }
  },
})
