// What one call is: who asks, and what the answer carries.

import type { Session } from './sessions.ts'

/** `onFlushed` is called by the wire once the answer has left: only then can what it handed out count as received. */
export interface Answer<T = unknown> {
  output: T
  onFlushed?(): void
}

/** What a handler knows besides its input. */
export interface Asking {
  session: Session
  /** The agent it is asked as; empty only for operations that anyone may ask. */
  by: string
  /** The call's own id, which makes a repeat recognisable. */
  id: string
  /** Nobody waits for the answer any more. */
  abandoned: AbortSignal
}
