// What one call is: who asks, and what the answer carries.

import type { Session } from './sessions.ts'

export interface Answer<T = unknown> {
  output: T
  /** Messages that go with the answer. The wire says what became of them: only an answer that has left was received. */
  handed?: readonly string[]
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
