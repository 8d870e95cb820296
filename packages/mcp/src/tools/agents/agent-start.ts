// agent_start: gives a contract to an agent of its own, and answers at once.

import { Contract, HarnessName } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { tool } from '../tool.ts'
import { jsonAnswer } from './answer.ts'

export const agentStartTool = tool({
  name: 'agent_start',
  title: 'Start an agent',
  description:
    'Start an agent that works on a contract by itself. Answers at once; agent_status tells how it fares, a message of its end.',
  input: z.object({
    contract: Contract.describe('What it shall do, complete in itself, and what it shall hand over'),
    harness: HarnessName.optional().describe('loop (default), a CLI, or external: an agent that completes it'),
    model: z.string().min(1).max(200).optional(),
    cwd: z.string().min(1).max(4_096).optional().describe('Working directory'),
    agent: z.string().max(64).optional().describe('Who carries out an external one; you, if left out'),
  }),
  output: z.object({ agent_id: z.string(), status: z.string(), started_at: z.string(), agent_name: z.string() }),
  hints: { openWorld: true },
  run: async (client, input) => {
    const { id, status, startedAt, agent } = await client.call('run.start', input)
    return jsonAnswer({ agent_id: id, status, started_at: startedAt, agent_name: agent })
  },
})
