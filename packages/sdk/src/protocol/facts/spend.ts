// Facts about spend: a turn of a model was paid for.

import type { Tokens } from '../spend.ts'

/**
 * One turn of an agent's model. `worker` or `run`: the id of the one that used it; an agent notes its own spend alone. `usd` is a list price, where the vendor
 * says it.
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
