// Spend: the tokens that agents have used, and their cost if the vendor reports it.

import { z } from 'zod'

/** Numbers of tokens. `input`: everything that the model read. `cached`: the part of `input` that the vendor had in its cache, which costs less. */
export const Tokens = z.object({ input: z.number(), output: z.number(), cached: z.number() })
export type Tokens = z.infer<typeof Tokens>

/**
 * Tokens and their cost in US dollars. `usd` is the list price, which may differ from what a subscription costs. Unset if the vendor has never reported a cost.
 */
export const Spend = z.object({ tokens: Tokens, usd: z.number().optional() })
export type Spend = z.infer<typeof Spend>

export const spendGroups = ['agent', 'run', 'model', 'day'] as const
export type SpendGroup = (typeof spendGroups)[number]

/** One row of a list of spend. Of the fields that can be grouped by, only the chosen one is set, and only if its value is known. */
export const SpendLine = Spend.extend({
  agent: z.string().optional(),
  run: z.string().optional(),
  model: z.string().optional(),
  /** A day such as `2026-11-17`, in UTC. */
  day: z.string().optional(),
  turns: z.number(),
})
export type SpendLine = z.infer<typeof SpendLine>
