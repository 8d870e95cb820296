// actions_invoke: calls an action by its name and waits for the result.

import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { envelopeAnswer, envelopeShape } from '../../action-tools.ts'
import { tool } from '../tool.ts'

export const actionsInvokeTool = tool({
  name: 'actions_invoke',
  title: 'Call an action',
  description: 'Call an action by name and wait for its result.',
  input: z.object({
    name: z.string().min(1).describe('e.g. review.submit_vote'),
    input: z.record(z.string(), z.unknown()).optional(),
    timeout_ms: z.number().int().min(1).max(limits.waitMsMax).optional(),
  }),
  output: z.object({ ok: z.boolean(), ...envelopeShape }),
  hasEnvelope: true,
  hints: { openWorld: true },
  run: async (client, { name, input = {}, timeout_ms: timeoutMs }) =>
    envelopeAnswer(await client.call('action.invoke', { name, input, timeoutMs })),
})
