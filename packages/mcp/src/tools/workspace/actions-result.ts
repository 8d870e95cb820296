// actions_result: the outcome of an earlier call that was not waited for.

import { z } from 'zod'
import { envelopeAnswer, envelopeShape } from '../../action-tools.ts'
import { tool } from '../tool.ts'

export const actionsResultTool = tool({
  name: 'actions_result',
  title: 'Result of an action',
  description: 'The result of an earlier call of yours, or that it is running.',
  input: z.object({ invocation: z.string().min(1).describe('invocationId') }),
  output: z.object({ ok: z.boolean(), running: z.boolean().optional(), ...envelopeShape }),
  hasEnvelope: true,
  hints: { readOnly: true, idempotent: true },
  run: async (client, { invocation }) => {
    const { running, result } = await client.call('action.result', { invocation })
    if (result) return envelopeAnswer(result)
    return { text: 'It is still running.', structured: { ok: true, running, invocationId: invocation } }
  },
})
