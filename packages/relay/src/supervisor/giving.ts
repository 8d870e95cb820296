// The one rule by which mail is put before a model, whatever way leads there: it is held first, so that no other way shows it too; then the way is looked at once
// more, since a dialog may have come meanwhile; then it is given, or let go.

import type { HeldMail } from '../broker/waking/own-session-runtime.ts'

export interface Way<M extends HeldMail> {
  /** A text may be put before the model now. */
  isOpen(): boolean
  /** `young`: a hook may still take what waits. */
  hold(): Promise<M | 'young' | undefined>
  /** Reads again what the program does. */
  look?(): void
  /** Settles the mail once it is known what became of it, which may be much later. */
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
