// Spend: the tokens that agents have used, and their cost where the vendor says it.

import { z } from 'zod'

/** `input` is all that the model read; `cached` is the part of it that the vendor had kept from before, and sells for less. */
export const Tokens = z.object({ input: z.number(), output: z.number(), cached: z.number() })
export type Tokens = z.infer<typeof Tokens>

/** Tokens and their cost. `usd` is at list price, which need not be what a subscription pays. Left out where the vendor has never said it. */
export const Spend = z.object({ tokens: Tokens, usd: z.number().optional() })
export type Spend = z.infer<typeof Spend>

export const spendGroups = ['agent', 'run', 'model', 'day'] as const
export type SpendGroup = (typeof spendGroups)[number]

/** One line of a list. It has the name by which the caller asked to group the lines; what is not known is left out. */
export const SpendLine = Spend.extend({
  agent: z.string().optional(),
  run: z.string().optional(),
  model: z.string().optional(),
  /** A day such as `2026-11-17`, in UTC. */
  day: z.string().optional(),
  turns: z.number(),
})
export type SpendLine = z.infer<typeof SpendLine>
