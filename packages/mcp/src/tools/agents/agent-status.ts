// agent_status: how agents with a contract fare, one object for each that was asked for.

import { AgentStatus, agentStatusOf, limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { tool } from '../tool.ts'
import { jsonAnswer } from './answer.ts'

export const agentStatusTool = tool({
  name: 'agent_status',
  title: 'Status of agents',
  description:
    'How agents fare: status, summary, where the payload is, or a preview of recent output. Workers by name, too.',
  input: z.object({ agent_ids: z.array(z.string().min(1).max(limits.idCharsMax)).max(limits.runsAskedMax) }),
  output: z.object({ agents: z.array(AgentStatus) }),
  hints: { readOnly: true, idempotent: true },
  run: async (client, { agent_ids }) => {
    const { runs } = await client.call('run.status', { runs: agent_ids })
    const agents = runs.map(agentStatusOf)
    return jsonAnswer({ agents }, agents)
  },
})
