// The one rule by which mail is put before a model, whatever the way in: the mail is held first, so that no other way shows it too; then the
// program is looked at once more, since a dialog may have come meanwhile; then the mail is given, or released.

import type { HeldMail } from '../broker/waking/own-session-runtime.ts'

export interface Way<M extends HeldMail> {
  /** Whether a text may be put before the model now. */
  isOpen(): boolean
  /** Holds the waiting mail. `young`: a hook may still take it. */
  hold(): Promise<M | 'young' | undefined>
  /** Reads the program's state again. */
  look?(): void
  /** Gives the mail and settles it once its outcome is known, perhaps much later. */
  give(mail: M): Promise<void>
}

export async function giveMail<M extends HeldMail>(way: Way<M>): Promise<'given' | 'young' | undefined> {
  if (!way.isOpen()) return undefined
  const held = await way.hold()
  if (held === undefined || held === 'young') return held
  way.look?.()
  if (!way.isOpen()) return void held.release()
  await way.give(held)
  return 'given'
}
