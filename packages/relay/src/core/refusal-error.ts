// A refusal as an exception: thrown by the broker, caught by the wire. Rules return refusals as values instead (verdict.ts).

import {
  type Refusal,
  type RefusalCode,
  type RefusalDetails,
  refusal,
  refusals,
} from '@agent-relay/sdk/protocol/refusals'

export class RefusalError extends Error {
  readonly refusal: Refusal
  constructor(refused: RefusalCode | Refusal, details?: RefusalDetails) {
    const whole = typeof refused === 'string' ? refusal(refused, details) : refused
    super(whole.message)
    this.name = 'RefusalError'
    this.refusal = whole
  }
}

/** Turns anything thrown into a refusal: a RefusalError into its own, a full disk into `store.full`, everything else into a fault with the error's text. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOSPC') return refusal('store.full')
  return refusal('fault', { why: error instanceof Error ? error.message : String(error) })
}

/** Returns the text of a refusal without its fix, for callers that do not know which tools its reader has. */
export function refusalTextWithoutFix({ code, details }: Refusal): string {
  return refusals[code].text(details)
}
