// A refusal on its way up a call stack that answers with values elsewhere: thrown in opening and dispatch, caught at the wire.

import { type Refusal, type RefusalCode, type RefusalDetails, refusal } from '@agent-relay/sdk/refusals'

export class RefusalError extends Error {
  readonly refusal: Refusal
  constructor(refused: RefusalCode | Refusal, details?: RefusalDetails) {
    const whole = typeof refused === 'string' ? refusal(refused, details) : refused
    super(whole.message)
    this.name = 'RefusalError'
    this.refusal = whole
  }
}

/** Whatever was thrown, as a refusal: a refusal itself, or a fault with the error's own words. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal
  return refusal('fault', { why: error instanceof Error ? error.message : String(error) })
}
