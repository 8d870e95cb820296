// The one rule by which mail is put before a model, on every path: the mail is held first, so that no other path shows it too; then the
// program is looked at once more, since a dialog may have come meanwhile; then the mail is given, or released.

import type { HeldMail } from '../broker/waking/user-session-runtime.ts'

export interface DeliveryPath<M extends HeldMail> {
  /** Whether a text may be put before the model now. */
  canTakeText(): boolean
  /** Holds the waiting mail. `young`: a hook may still take it. */
  hold(): Promise<M | 'young' | undefined>
  /** Reads the program's state again. */
  look?(): void
  /** Gives the mail and settles it once its outcome is known, perhaps much later. */
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
