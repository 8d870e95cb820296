// Spend for people: `12k tokens, $0.31`. Tokens first: the cost is a list price, and few vendors tell it.

import type { Spend } from '../protocol/spend.ts'

/** All tokens, in and out, with the cost where it is known. */
export function spendText({ tokens: { input, output }, usd }: Spend): string {
  return `${countText(input + output)} tokens${usd === undefined ? '' : `, ${usdText(usd)}`}`
}

/** A count such as `812`, `1.2k`, `12k`, `1.2M`. */
export function countText(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${rounded(count / 1_000)}k`
  return count < 999_500_000 ? `${rounded(count / 1e6)}M` : `${rounded(count / 1e9)}G`
}

/** A cost such as `$0.31`, or `$0.0042` where it is less than a cent. */
export function usdText(usd: number): string {
  return `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`
}

function rounded(count: number): string {
  return count < 9.95 ? count.toFixed(1).replace(/\.0$/, '') : String(Math.round(count))
}
