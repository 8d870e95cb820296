// The contract of a CLI's own server, by which the relay talks to a worker's program without its terminal.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { Dialog } from './dialog.ts'

/** Interval between two attempts to reach a server, which its program needs a moment to start. */
export const reconnectMs = 1_000
/** Maximum delay before a program begins with a message that it has taken. */
export const turnStartMs = 5_000
/** Time limit of each answer of a server that is told to interrupt a turn. It is short, since whoever interrupts waits, and keystrokes come next. */
export const interruptAnswerMs = 1_500

export interface CliServer {
  /** Sends a message. True: the server has it. False: use keystrokes. */
  send?(text: string): Promise<boolean>
  /** Returns the question that the program waits for; undefined if the server knows of none. Rejects if the server does not answer. */
  readDialog?(): Promise<Dialog | undefined>
  /** Interrupts the turns that are under way. True: the server was told. False, or a rejection: use keystrokes. */
  interrupt?(): Promise<boolean>
  /** Follows the program, which has started: its state and usage are reported from now on. */
  follow?(listener: CliListener): CliFollower
}

export interface CliFollower {
  /** The program's state, as the server reports it. Undefined: the server is silent, and the screen has to be read. */
  readonly doing: CliState | undefined
  /** Called when the program is given a message; the program may begin its turn a little later. */
  onMessageGiven(): void
  end(): void
}

export interface CliState {
  state: 'busy' | 'idle' | 'blocked'
  /** With `blocked`: the reason why the program waits. */
  reason?: string
}

export interface CliListener {
  /** The program's state may have changed. */
  onChange(): void
  /** The usage of a turn that has ended. */
  onSpent(spend: CliSpend): void
  /** The program has begun a turn in this conversation, which may be another one than before. */
  onConversation(id: string): void
}

export type CliSpend = Pick<SpendNoted, 'model' | 'tokens' | 'usd'>
