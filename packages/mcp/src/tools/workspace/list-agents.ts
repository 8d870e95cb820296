// list_agents: who is in the workspace, and in what state.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const listAgentsTool = workspaceTool({
  name: 'list_agents',
  title: 'List agents',
  description: 'Agents with their session status. By default those that are online.',
  input: z.object({ status: z.enum(['active', 'idle', 'offline', 'all']).optional() }),
  output: {
    agents: z.array(
      z.object({
        name: z.string(),
        handle: z.string().optional(),
        type: z.string(),
        cli: z.string().optional(),
        status: z.string(),
      }),
    ),
  },
  hints: { readOnly: true, idempotent: true },
  isForAnyone: true,
  run: async (client, { status }) => {
    const includeOffline = status === 'offline' || status === 'all'
    const { agents: all } = await client.call('agent.list', { includeOffline })
    const chosen = status === undefined || status === 'all' ? all : all.filter((agent) => agent.status === status)
    const agents = chosen.map(({ name, handle, type, cli, status }) => ({ name, handle, type, cli, status }))
    const lines = agents.map(({ name, cli, type, status }) => `- ${name} (${cli ?? type}) - ${status}`)
    return { text: [`${agents.length} agent(s)`, ...lines].join('\n'), agents }
  },
})
