// agent_stop: ends an agent before its contract is fulfilled.

import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { tool } from '../tool.ts'
import { Ended, endedAnswer } from './answer.ts'

export const agentStopTool = tool({
  name: 'agent_stop',
  title: 'Stop an agent',
  description: 'Stop an agent: its model is asked nothing more. One that is over already stays as it is.',
  input: z.object({ agent_id: z.string().min(1).max(limits.idCharsMax) }),
  output: Ended,
  hints: { destructive: true, idempotent: true },
  run: async (client, { agent_id: run }) => endedAnswer(await client.call('run.stop', { run })),
})
