// The messages of ACP (version 1), with the fields that we use. Data from an agent is not trusted: its size is limited, and data that does not fit is
// refused or ignored. packages/relay/tests/supervisor/acp-schema.json has the protocol's own schemas.

import { z } from 'zod'
import { copyBeginning } from '../../broker/approvals/approval-runtime.ts'

export const acpVersion = 1
/** JSON-RPC's own error codes. */
export const rpcErrorCodes = { invalid: -32_600, method: -32_601, params: -32_602, failed: -32_603 } as const

const Id = z.string().max(1_000)
const Text = z.string()
const Count = z.number().nonnegative()

/** `loadSession`: whether the agent can open an earlier conversation again. */
const Capabilities = z.object({ loadSession: z.boolean().nullish() })
export const InitializeAnswer = z.object({
  protocolVersion: z.number(),
  agentCapabilities: Capabilities.nullish().catch(undefined),
})
/** The model that an agent uses; only some agents name it. */
const Models = z.object({ currentModelId: z.string().max(200) })
export const NewSessionAnswer = z.object({ sessionId: Id, models: Models.nullish().catch(undefined) })
export const LoadSessionAnswer = NewSessionAnswer.omit({ sessionId: true }).nullish()

const optionKinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const
export type PermissionOptionKind = (typeof optionKinds)[number]

const ToolCall = z.object({
  toolCallId: Id,
  // Codex's adapter sends neither title nor kind.
  title: Text.nullish(),
  kind: z.string().max(100).nullish(),
  status: z.string().nullish(),
  // These fields are not checked here: they may contain whole files, and are parsed where they are used.
  locations: z.unknown().optional(),
  content: z.unknown().optional(),
  rawInput: z.unknown().optional(),
})
export type ToolCall = z.infer<typeof ToolCall>

export const PermissionRequest = z.object({
  toolCall: ToolCall,
  options: z
    .array(
      z.object({ optionId: Id, name: Text.transform((name) => copyBeginning(name, 1_000)), kind: z.enum(optionKinds) }),
    )
    .min(1)
    .max(20),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

/** The cost of the conversation so far. */
const SessionCost = z.object({ amount: Count, currency: z.string().max(10) })
export type SessionCost = z.infer<typeof SessionCost>

/** The updates that we use: what the transcript shows, and the cost. All other updates of an agent are ignored. */
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

/** Updates that show that the model is working. Other updates, such as the list of the agent's commands, may come at any time. */
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
  // Usage in the form that Gemini sends.
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
