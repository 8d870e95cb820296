// agent_complete: an agent says that its contract is fulfilled, and hands over what it made.

import { limits, Summary } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { tool } from '../tool.ts'
import { Ended, endedAnswer } from './answer.ts'

export const agentCompleteTool = tool({
  name: 'agent_complete',
  title: 'Complete a contract',
  description: 'Say that your contract is fulfilled. Call it once, as the last thing you do.',
  input: z.object({
    agent_id: z.string().min(1).max(limits.idCharsMax),
    summary: Summary.describe('What was done and what came of it'),
    // How large it may be is said by the operation: counting eight million characters twice would be felt.
    payload: z.string().optional().describe('The result itself, up to 8 MiB; larger ones belong in files'),
  }),
  output: Ended,
  hints: { idempotent: true },
  run: async (client, { agent_id: run, summary, payload }) =>
    endedAnswer(await client.call('run.complete', { run, summary, payload })),
})
