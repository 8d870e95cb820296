// Facts about spend: the tokens and cost of one turn of a model.

import type { Tokens } from '../spend.ts'

/**
 * The tokens and cost of one turn of an agent's model. `worker` or `run` is the id of that agent's worker program or run in which the turn took place. `usd` is
 * a list price, if the vendor reports one.
 */
export interface SpendNoted {
  type: 'spend.noted'
  agent: string
  worker?: string
  run?: string
  model?: string
  tokens: Tokens
  usd?: number
}
