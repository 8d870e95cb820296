// Computes the usage of each turn from what an ACP agent reports: tokens at the end of the turn, and the cost of the whole conversation in between.
// core/spend.ts decides whether the numbers can be believed.

import type { SpendNoted, Tokens } from '@agent-relay/sdk/protocol'
import type { AcpHarness } from '../harness/harness.ts'
import type { SessionCost, TurnEnd } from './acp-schemas.ts'

export type TurnSpend = Pick<SpendNoted, 'model' | 'tokens' | 'usd'>

const noTokens: Tokens = { input: 0, output: 0, cached: 0 }

export class AcpUsage {
  readonly #countsAll: boolean | undefined
  /** The model that the agent named when the conversation was opened. */
  model: string | undefined
  /** Cost of the whole conversation in dollars, as reported in this turn; below it, the part of the cost that was already recorded. */
  #usd: number | undefined
  #notedUsd = 0
  #before = noTokens

  constructor({ countsConversation }: Pick<AcpHarness, 'countsConversation'>) {
    this.#countsAll = countsConversation
  }

  onCost({ amount, currency }: SessionCost): void {
    if (currency === 'USD') this.#usd = amount
  }

  /** Takes over the cost of a continued conversation: earlier turns have recorded it. */
  onPastCost({ amount, currency }: SessionCost): void {
    if (currency === 'USD') this.#notedUsd = amount
  }

  /** Returns the usage of a turn that has ended; undefined if the agent has reported nothing. */
  onTurnEnd(end: TurnEnd | undefined): TurnSpend | undefined {
    const told = end && tokensOf(end)
    const usd = this.#usd === undefined ? undefined : differenceOf(this.#usd, this.#notedUsd)
    this.#notedUsd = this.#usd ?? this.#notedUsd
    this.#usd = undefined
    if (!told && !usd) return undefined
    const model = end?._meta?.quota.model_usage?.[0]?.model ?? this.model
    return { model, tokens: told ? this.#tokensOfTurn(told) : noTokens, usd }
  }

  #tokensOfTurn(told: Tokens): Tokens {
    const before = this.#before
    if (!this.#countsAll) return told
    this.#before = told
    // The agent has begun to count at zero again, so the whole count belongs to this turn.
    if (told.input < before.input || told.output < before.output) return told
    return {
      input: told.input - before.input,
      output: told.output - before.output,
      cached: differenceOf(told.cached, before.cached),
    }
  }
}

/** Usage as text for the transcript. */
export function spentText(spend: TurnSpend | undefined): string {
  return spend ? `, ${spend.tokens.input} tokens in and ${spend.tokens.output} out` : ''
}

/**
 * Returns by how much a running total has grown. A total that fell by more than half has begun again at zero; a smaller fall is a correction, and
 * counts as 0.
 */
function differenceOf(now: number, before: number): number {
  return now < before / 2 ? now : Math.max(0, now - before)
}

/** Returns the tokens of a turn, with cached input counted as input. Some agents report the two separately: the total, if it is reported, shows that. */
function tokensOf({ usage, _meta }: TurnEnd): Tokens | undefined {
  if (!usage) {
    const count = _meta?.quota.token_count
    return count && { input: count.input_tokens, output: count.output_tokens, cached: 0 }
  }
  const { inputTokens: input, outputTokens: output, totalTokens } = usage
  const cached = usage.cachedReadTokens ?? 0
  const beside = cached + (usage.cachedWriteTokens ?? 0)
  const isBeside = totalTokens == null ? cached > input : totalTokens >= input + output + beside
  return { input: isBeside ? input + beside : input, output, cached }
}
