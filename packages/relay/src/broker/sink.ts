// The contract between something that keeps sending (a watch) and the wire that carries it.

import type { Refusal } from '@agent-relay/sdk/protocol'

export interface Sink {
  /** May more be sent now? If not, the wire calls `drained` on the watch when it may. */
  isReady(): boolean
  item(item: unknown): void
  end(refusal: Refusal): void
}

export interface Watch {
  /** From here on nothing is missed. */
  readonly seq: number
  drained(): void
  stop(): void
}
