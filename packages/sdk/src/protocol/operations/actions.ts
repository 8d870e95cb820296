// Operations on actions: typed functions that a program offers and agents call.

import { z } from 'zod'
import { isWithinBytes, limits } from '../limits.ts'
import { ActionEnvelope, ActionErrorCode, ActionInfo, ActionName, AgentName, Invocation, JsonSchema } from '../words.ts'
import type { OperationTable } from './rule.ts'

const timeoutMs = z.number().int().min(1).max(limits.waitMsMax)
const invocation = z.string().min(1).max(limits.idCharsMax)
const offeredSchema = JsonSchema.refine((schema) => isWithinBytes(JSON.stringify(schema), limits.actionBytesMax), {
  message: `the schema of an action is at most ${limits.actionBytesMax / 1024} KiB`,
})

export const actionOperations = {
  'action.register': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Offer an action to the agents of the workspace, for as long as this session lives.',
    input: z.object({
      name: ActionName,
      description: z.string().min(1).max(limits.actionDescriptionCharsMax),
      inputSchema: offeredSchema,
      outputSchema: offeredSchema.optional(),
      /** The agents that may call the action. Unset: all agents. */
      availableTo: z.array(AgentName).max(1_000).optional(),
      timeoutMs: timeoutMs.optional(),
    }),
    output: z.object({ name: z.string(), tool: z.string() }),
  },
  'action.withdraw': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Offer an action no longer; calls under way end with provider_offline.',
    input: z.object({ name: ActionName }),
    output: z.object({ withdrawn: z.number() }),
  },
  'action.list': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    needsNoStoredAgent: 'always',
    summary: 'The actions that you may call now; without a name, those that are open to all.',
    input: z.object({
      /**
       * Whether to list only actions that models are shown as tools without asking for them: actions of programs that connect on the owner's socket or with the
       * workspace key.
       */
      unasked: z.boolean().optional(),
      /** Maximum number of actions to list, in the order of their names. */
      limit: z.number().int().min(1).optional(),
    }),
    output: z.object({ actions: z.array(ActionInfo) }),
  },
  'action.invoke': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Call an action and return its result, an envelope that also reports failures of the action.',
    input: z.object({ name: z.string().min(1).max(64), input: z.unknown(), timeoutMs: timeoutMs.optional() }),
    output: ActionEnvelope,
  },
  'action.result': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'The result of an earlier call of yours, or that it is still under way.',
    input: z.object({ invocation }),
    output: z.object({ running: z.boolean(), result: ActionEnvelope.optional() }),
  },
  'action.follow': {
    kind: 'watch',
    who: 'agent',
    network: 'open',
    summary: 'Send each call of the actions this session offers (EVENT); it is answered by action.answer.',
    input: z.object({}),
    output: Invocation,
  },
  'action.answer': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Give the output of a call, or say what went wrong. The first answer counts.',
    input: z.object({
      invocation,
      output: z.unknown().optional(),
      error: z.object({ code: ActionErrorCode, message: z.string().max(4_000) }).optional(),
    }),
    output: z.object({ counted: z.boolean() }),
  },
} satisfies OperationTable
