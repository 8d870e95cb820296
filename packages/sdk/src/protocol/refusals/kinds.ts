// The kinds of refusals, each with whether trying again can help, the HTTP status, and the exit code. A refusal may override these values.

import type { RefusalDetails } from './fixes.ts'

export interface RefusalRule {
  text: (details: RefusalDetails) => string
  /** Whether the same call may succeed later unchanged. */
  retry: boolean
  http: number
  exit: number
}

export const usageKind = { retry: false, http: 400, exit: 2 }
export const notFoundKind = { retry: false, http: 404, exit: 1 }
export const conflictKind = { retry: false, http: 409, exit: 1 }
export const deniedKind = { retry: false, http: 403, exit: 77 }
export const unauthenticatedKind = { ...deniedKind, http: 401 }
export const busyKind = { retry: true, http: 503, exit: 75 }
