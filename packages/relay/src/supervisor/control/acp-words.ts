// The words of ACP (version 1) that we use, as far as we use them. What an agent writes is not trusted: it is bounded, and what does not fit is
// refused or passed over. packages/relay/tests/supervisor/acp-schema.json has the schemas of what we built against.

import { z } from 'zod'
import { beginningOf } from '../../broker/approvals/approval-runtime.ts'

export const protocolVersion = 1
/** JSON-RPC's own numbers. */
export const errors = { invalid: -32_600, method: -32_601, params: -32_602, failed: -32_603 } as const

const Id = z.string().max(1_000)
const Text = z.string()
const Count = z.number().nonnegative()

export const Initialized = z.object({ protocolVersion: z.number() })
/** Some say which model they use. */
const Models = z.object({ currentModelId: z.string().max(200) })
export const NewSession = z.object({ sessionId: Id, models: Models.nullish().catch(undefined) })

const optionKinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const
export type OptionKind = (typeof optionKinds)[number]

const ToolCall = z.object({
  toolCallId: Id,
  // Codex's adapter gives neither.
  title: Text.nullish(),
  kind: z.string().max(100).nullish(),
  status: z.string().nullish(),
  // Looked into where they are used: they may hold whole files.
  locations: z.unknown().optional(),
  content: z.unknown().optional(),
  rawInput: z.unknown().optional(),
})
export type ToolCall = z.infer<typeof ToolCall>

export const PermissionRequest = z.object({
  toolCall: ToolCall,
  options: z
    .array(
      z.object({ optionId: Id, name: Text.transform((name) => beginningOf(name, 1_000)), kind: z.enum(optionKinds) }),
    )
    .min(1)
    .max(20),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

/** Of the conversation so far. */
const SessionCost = z.object({ amount: Count, currency: z.string().max(10) })
export type SessionCost = z.infer<typeof SessionCost>

/** What stands in the transcript, and what was spent. Everything else an agent tells is passed over. */
export const SessionUpdate = z.object({
  update: z.discriminatedUnion('sessionUpdate', [
    z.object({ sessionUpdate: z.literal('agent_message_chunk'), content: z.object({ text: Text.optional() }) }),
    z.object({ sessionUpdate: z.literal('agent_thought_chunk'), content: z.object({ text: Text.optional() }) }),
    ToolCall.extend({ sessionUpdate: z.literal('tool_call') }),
    ToolCall.extend({ sessionUpdate: z.literal('tool_call_update') }),
    z.object({ sessionUpdate: z.literal('usage_update'), cost: SessionCost.nullish().catch(undefined) }),
  ]),
})
export type SessionUpdate = z.infer<typeof SessionUpdate>['update']

/** What comes of a model at work. Other updates, such as of the commands that it offers, may come at any time. */
export const WorkUpdate = z.object({
  update: z.object({
    sessionUpdate: z.enum(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan']),
  }),
})

export const TurnEnd = z.object({
  stopReason: z.string().max(100),
  usage: z
    .object({
      inputTokens: Count,
      outputTokens: Count,
      totalTokens: Count.nullish(),
      cachedReadTokens: Count.nullish(),
      cachedWriteTokens: Count.nullish(),
    })
    .nullish()
    .catch(undefined),
  // As Gemini says it.
  _meta: z
    .object({
      quota: z.object({
        token_count: z.object({ input_tokens: Count, output_tokens: Count }),
        model_usage: z
          .array(z.object({ model: z.string().max(200) }))
          .max(100)
          .nullish()
          .catch(undefined),
      }),
    })
    .nullish()
    .catch(undefined),
})
export type TurnEnd = z.infer<typeof TurnEnd>
