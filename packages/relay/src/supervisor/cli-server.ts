// The contract of a CLI server, which is a CLI's own interface for other programs: the relay uses it to talk to a worker's program without the terminal.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { Dialog } from './dialog.ts'

/** Interval between two attempts to connect to a CLI server, which needs a moment to start. */
export const reconnectMs = 1_000
/** Maximum time between a program's acceptance of a message and the beginning of its turn. Until then, the program counts as busy. */
export const turnStartMs = 5_000
/** Timeout of each answer of a CLI server that is asked to interrupt a turn. It is short, because the caller waits and keystrokes are tried next. */
export const interruptAnswerMs = 1_500

export interface CliServer {
  /** Sends a message to the program. False: the server did not take it, so it has to be typed. */
  send?(text: string): Promise<boolean>
  /** Returns the question that the program waits for; undefined if the server knows of none. Rejects if the server does not answer. */
  readDialog?(): Promise<Dialog | undefined>
  /** Interrupts all turns that are under way. False, or a rejection: the server was not reached, so the keys that interrupt have to be typed. */
  interrupt?(): Promise<boolean>
  /** Follows a program that has started: its state and its token usage are reported to the listener from now on. */
  follow?(listener: CliListener): CliFollower
}

export interface CliFollower {
  /** The program's state, as the server reports it. Undefined: the server does not tell, so the screen has to be read. */
  readonly doing: CliState | undefined
  /** Called when the program is given a message; the program may begin its turn a little later. */
  onMessageGiven(): void
  end(): void
}

export interface CliState {
  state: 'busy' | 'idle' | 'blocked'
  /** If the state is `blocked`: the reason why the program waits. */
  reason?: string
}

export interface CliListener {
  /** Called when the program's state may have changed. */
  onChange(): void
  /** Called with the token usage of a turn that has ended. */
  onSpent(spend: CliSpend): void
  /** Called when the program has begun a turn in the conversation with this id, which may differ from the last turn's. */
  onConversation(id: string): void
}

export type CliSpend = Pick<SpendNoted, 'model' | 'tokens' | 'usd'>
