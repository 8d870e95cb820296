// The contract of a CLI's own door: a way to it that is neither its terminal nor ours.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { Dialog } from './dialog.ts'

/** Between two attempts to reach a server that its program starts: that takes a moment. */
export const reconnectMs = 1_000
/** A program takes a message at once, and may begin with it this much later. */
export const beginMs = 5_000

export interface OwnDoor {
  /** True: handed over. False: use keystrokes. */
  send?(text: string): Promise<boolean>
  /** What it waits for. Undefined: nothing that this door knows of. Rejects where the door does not answer. */
  asked?(): Promise<Dialog | undefined>
  /** Its program has started: from now on it tells what it does and spends. */
  follow?(listener: DoorListener): Following
}

export interface Following {
  /** What the program says of itself now. Undefined: it does not say, and its screen has to be read. */
  readonly doing: DoorDoing | undefined
  /** It is handed a message, and may begin with it a little later. */
  given(): void
  end(): void
}

export interface DoorDoing {
  state: 'busy' | 'idle' | 'blocked'
  /** Of `blocked`: what it waits for. */
  reason?: string
}

export interface DoorListener {
  /** It may do something else now. */
  onChange(): void
  /** What a turn that has ended has used. */
  onSpent(spend: DoorSpend): void
}

export type DoorSpend = Pick<SpendNoted, 'model' | 'tokens' | 'usd'>
