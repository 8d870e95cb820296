// The one rule by which mail is given to a model, on every path: the mail is held first, so that no other path shows it too; then the program's state
// is read once more, since a dialog may have opened meanwhile; then the mail is given, or released.

import type { HeldMail } from '../broker/waking/user-session-runtime.ts'

export interface DeliveryPath<M extends HeldMail> {
  /** Whether a text may be put before the model now. */
  canTakeText(): boolean
  /** Holds the waiting mail. Resolves to `young` if the mail is so new that a hook may still take it, to undefined if no mail waits. */
  hold(): Promise<M | 'young' | undefined>
  /** Reads the program's state again. */
  look?(): void
  /** Gives the mail to the program. Records the mail as offered, or releases it, once the outcome is known, perhaps much later. */
  give(mail: M): Promise<void>
}

export async function deliverMail<M extends HeldMail>(path: DeliveryPath<M>): Promise<'given' | 'young' | undefined> {
  if (!path.canTakeText()) return undefined
  const held = await path.hold()
  if (held === undefined || held === 'young') return held
  path.look?.()
  if (!path.canTakeText()) return void held.release()
  await path.give(held)
  return 'given'
}
