// The tokens and cost of an agent, a worker or a run: short in a row, with details in a tooltip.

import { countText, type Spend, usdText } from '@agent-relay/sdk/internal/page'

/** Draws `12k tok $0.42`, or nothing if the spend is unknown. */
export function Spent({ spend }: { spend: Spend | undefined }) {
  if (!spend) return null
  const { tokens, usd } = spend
  return (
    <span className="spent num" title={partsOf(spend)}>
      {countText(tokens.input + tokens.output)} tok
      {usd !== undefined && ` ${usdText(usd)}`}
    </span>
  )
}

function partsOf({ tokens: { input, output, cached }, usd }: Spend): string {
  const count = (value: number): string => value.toLocaleString('en')
  const tokens = `${count(input)} tokens in (${count(cached)} of them cached), ${count(output)} out`
  return usd === undefined ? `${tokens}; its cost is not known` : `${tokens}; ${usdText(usd)} at list price`
}
