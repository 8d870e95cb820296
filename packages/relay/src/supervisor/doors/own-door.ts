// The contract of a CLI's own door: a way to it that is neither its terminal nor ours.

import type { Dialog } from '../dialog.ts'

export interface OwnDoor {
  /** True: handed over. False: use keystrokes. */
  send?(text: string): Promise<boolean>
  /** What it waits for. Undefined: nothing that this door knows of. Rejects where the door does not answer. */
  asked?(): Promise<Dialog | undefined>
}
