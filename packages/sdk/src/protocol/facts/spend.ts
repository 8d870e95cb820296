// Facts about spend: the tokens and cost of one turn of a model.

import type { Tokens } from '../spend.ts'

/**
 * The tokens and cost of one turn of an agent's model. `worker` or `run`: the id of the worker or run that the turn belonged to. `usd`: the list price in US
 * dollars, if the vendor reports it.
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
