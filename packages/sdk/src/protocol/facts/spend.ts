// What can happen to spend: a turn of a model was paid for.

import type { Tokens } from '../spend.ts'

/** One turn. `worker` and `run`: by whose id it was used; an agent notes its own alone. `usd` is a list price, where the vendor says it. */
export interface SpendNoted {
  type: 'spend.noted'
  agent: string
  worker?: string
  run?: string
  model?: string
  tokens: Tokens
  usd?: number
}
