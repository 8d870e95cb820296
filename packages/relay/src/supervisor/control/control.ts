// The contract of a control: how the supervisor speaks with a worker's program. It is two things: a way in, by which texts get before the model and what the
// program does is known, and a terminal for people. pty-control.ts types and reads the screen, and uses the CLI's own server where it has one; acp-control.ts speaks ACP.
// When something is said, and what, is decided in attention.ts.

import type { ControlName, Route } from '@agent-relay/sdk/protocol'
import type { MailRoom } from '../../broker/waking/own-session-runtime.ts'
import type { Exit } from '../pty.ts'
import type { TurnSpend } from './acp-usage.ts'

export interface Control extends WayIn, PersonsTerminal {
  readonly name: ControlName
  readonly pid: number
  /** Ways to ask it to exit, one after the other. */
  leave(): readonly (() => unknown)[]
}

/** How texts get before its model, and how it is known what it does. */
export interface WayIn {
  /** What of its mail one prompt may hold. */
  readonly mail: MailRoom
  /** An idle program has our tools. False: their session has to be there too. */
  readonly isReadyWhenIdle: boolean
  look(): Promise<ControlLook>
  /** A dialog stands on its screen at this moment, whether or not the queue knows it. Left out where it asks in another way. */
  isBlocked?(): Promise<boolean>
  /** Its parent was told that it is blocked. */
  told?(): void
  /**
   * Puts a text before the model. Asked of an idle program alone, and never while an earlier prompt is under way. Resolves when it is on its
   * way: to nothing, or, where a dialog came in between, to what is left to do at the next idle look. What became of it the listener is told,
   * which may be much later.
   */
  prompt(text: string, listener: PromptListener): Promise<Unfinished | undefined>
  /** Nothing is looked at, given or answered any more. */
  end(): void
}

/** Where people see what it does: its terminal, or the transcript that stands for one. */
export interface PersonsTerminal {
  /** What a person types there, or at the line below the transcript. */
  type(data: string): void
  resize(cols: number, rows: number): void
}

/** What becomes of a prompt: one of the two is called, once, unless the program ends before. */
export interface PromptListener {
  /** As soon as it is known that the program has it. */
  onTaken(route: Route): Promise<void>
  /** The model does not have it. `why`: in the words of the program; left out where it was not given to the program at all. */
  onRefused(why?: string): void
}

export type Unfinished = () => Promise<Unfinished | undefined>

export interface ControlLook {
  state: 'starting' | 'busy' | 'idle' | 'blocked'
  /** Of `blocked`: what it waits for. */
  reason?: string
  /** Of `blocked`: it was answered a moment ago, and may only not show it yet. */
  isAnswered?: boolean
  /** When to look again, if nothing happens before. */
  againMs?: number
  /** Of `idle`: a person types, and is not interrupted for so long. */
  typingMs?: number
}

/** What a control tells its worker. */
export interface ControlListener {
  /** A look may find something else than the last one. `ms`: by then at the latest. */
  onChange(ms?: number): void
  onExit(exit: Exit): void
  /** It cannot be spoken to this way. Told once, and instead of its exit. `hasTalked`: a turn has ended, of which only this program knows. */
  onBroken(why: string, hasTalked: boolean): void
  /** What turn number `n` of the conversation has used, where the program says so. */
  onSpent(n: number, spend: TurnSpend): void
  /** Something went wrong that its parent cannot fix. */
  onTrouble(error: Error): void
}
