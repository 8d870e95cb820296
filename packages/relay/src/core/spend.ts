// Spend: what one turn of a model has used. An agent's is noted by the daemon, which asks its model for it or hears of it from its program; no
// operation lets an agent say what it has spent, itself or another one.

import { cleanLine } from '@agent-relay/sdk/internal/clean'
import type { SpendNoted, Tokens } from '@agent-relay/sdk/protocol'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

/** No turn uses as much: who says so does not know what it says. */
const [turnTokensMax, turnUsdMax] = [1e9, 1e4]
/** Of a name that a program gives its model. */
const modelCharsMax = 100
/** As exact as it is added up: a millionth of a dollar. */
export const usdParts = 1_000_000

/** As it was heard: any number, also NaN. */
export type NoteInput = Omit<SpendNoted, 'type' | 'agent'>

export function note(view: View, { input, by }: Command<NoteInput>): Verdict {
  const { worker, run, model } = input
  if (!view.agent(by)) return refuse('agent.required')
  if (worker !== undefined && view.workers.byId(worker)?.name !== by) return refuse('worker.unknown', { name: worker })
  if (run !== undefined && view.runs.byId(run)?.agent !== by) return refuse('run.unknown', { run })
  const tokens = counted(input.tokens)
  const usd = priced(input.usd)
  // Nothing was used, or nobody knows how much.
  if (!tokens || (tokens.input === 0 && tokens.output === 0 && !usd)) return record([])
  const named = cleanLine(model ?? '').slice(0, modelCharsMax) || undefined
  return record([{ type: 'spend.noted', agent: by, worker, run, model: named, tokens, usd }])
}

/** Undefined where one of them is no count of tokens: the others are then not believed either. */
function counted({ input, output, cached }: Tokens): Tokens | undefined {
  if (![input, output, cached].every((count) => count >= 0 && count <= turnTokensMax)) return undefined
  const all = Math.floor(input)
  return { input: all, output: Math.floor(output), cached: Math.min(all, Math.floor(cached)) }
}

function priced(usd: number | undefined): number | undefined {
  if (usd === undefined || !(usd >= 0 && usd <= turnUsdMax)) return undefined
  return Math.round(usd * usdParts) / usdParts
}
