// Formats spend for people: `12k tokens, $0.31`. Tokens come first, because the cost is a list price, and few vendors report it.

import type { Spend } from '../protocol/spend.ts'

/** Formats the sum of input and output tokens, with the cost if it is known. */
export function spendText({ tokens: { input, output }, usd }: Spend): string {
  return `${countText(input + output)} tokens${usd === undefined ? '' : `, ${usdText(usd)}`}`
}

/** Formats a count such as `812`, `1.2k`, `12k`, `1.2M`. */
export function countText(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${rounded(count / 1_000)}k`
  return count < 999_500_000 ? `${rounded(count / 1e6)}M` : `${rounded(count / 1e9)}G`
}

/** Formats a cost such as `$0.31`, or `$0.0042` if it is less than a cent. */
export function usdText(usd: number): string {
  return `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`
}

function rounded(count: number): string {
  return count < 9.95 ? count.toFixed(1).replace(/\.0$/, '') : String(Math.round(count))
}
