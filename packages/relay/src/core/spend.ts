// Rules for spend, the tokens and cost of one turn of a model. Only the daemon records spend: it asks the model itself, or hears of the spend from the agent's
// program. No operation lets an agent report spend, its own or another's.

import { cleanLine } from '@agent-relay/sdk/internal/clean'
import type { SpendNoted, Tokens } from '@agent-relay/sdk/protocol'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

/** The most tokens and dollars that one turn can use: a report of more is wrong, and not believed. */
const [turnTokensMax, turnUsdMax] = [1e9, 1e4]
/** The longest name of a model that is stored, as the agent's program reports it. */
const modelCharsMax = 100
/** The number of parts of a dollar to which costs are rounded, and in which they are added up. */
export const usdPartsPerDollar = 1_000_000

/** A report of spend as the daemon received it, not checked yet: its numbers may be anything, even NaN. */
export type SpendInput = Omit<SpendNoted, 'type' | 'agent'>

export function recordSpend(view: View, { input, by }: Command<SpendInput>): Verdict {
  const { worker, run, model } = input
  if (!view.agent(by)) return refuse('agent.required')
  if (worker !== undefined && view.workers.byId(worker)?.name !== by) return refuse('worker.unknown', { name: worker })
  if (run !== undefined && view.runs.byId(run)?.agent !== by) return refuse('run.unknown', { run })
  const tokens = counted(input.tokens)
  const usd = priced(input.usd)
  // Records nothing without tokens or cost: nothing was used, or nobody knows how much.
  if (!tokens || (tokens.input === 0 && tokens.output === 0 && !usd)) return recordFacts([])
  const named = cleanLine(model ?? '').slice(0, modelCharsMax) || undefined
  return recordFacts([{ type: 'spend.noted', agent: by, worker, run, model: named, tokens, usd }])
}

/** Rounds the counts of tokens. Undefined if one of them is not a possible count: then none is believed. */
function counted({ input, output, cached }: Tokens): Tokens | undefined {
  if (![input, output, cached].every((count) => count >= 0 && count <= turnTokensMax)) return undefined
  const all = Math.floor(input)
  return { input: all, output: Math.floor(output), cached: Math.min(all, Math.floor(cached)) }
}

function priced(usd: number | undefined): number | undefined {
  if (usd === undefined || !(usd >= 0 && usd <= turnUsdMax)) return undefined
  return Math.round(usd * usdPartsPerDollar) / usdPartsPerDollar
}
