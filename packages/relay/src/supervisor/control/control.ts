// The contract of a control: how the supervisor talks to a worker's program. It has two parts: a prompt channel, which puts texts before the model and
// knows what the program does, and the terminal's input, for people. pty-control.ts types and reads the screen, and uses the CLI's own server where it has one;
// acp-control.ts speaks ACP. When a text is given, and which, is decided in prompt-scheduler.ts.

import type { ControlName, Route } from '@agent-relay/sdk/protocol'
import type { MailLimits } from '../../broker/waking/user-session-runtime.ts'
import type { ProgramExit } from '../pty.ts'
import type { TurnSpend } from './acp-usage.ts'

export interface Control extends PromptChannel, TerminalInput {
  readonly name: ControlName
  readonly pid: number
  /** Ways to ask the program to exit, one after the other. */
  exitSteps(): readonly (() => unknown)[]
}

/** Puts texts before the program's model, and knows what the program does. */
export interface PromptChannel {
  /** The room for mail in one prompt. */
  readonly mailRoom: MailLimits
  /** Whether an idle program is ready for its task. False: the program is ready once its session with our tools has connected. */
  readonly isReadyWhenIdle: boolean
  look(): Promise<ControlState>
  /** Whether a dialog is on the screen at this moment, known to the queue or not. Left out where the program asks in another way. */
  isBlocked?(): Promise<boolean>
  /** Called when the worker's parent was told that the worker is blocked. */
  onBlockedReported?(): void
  /**
   * Puts a text before the model. Called only for an idle program, and never while an earlier prompt is under way. Resolves when the text is on
   * its way: to nothing, or, where a dialog came in between, to the rest of the work for the next idle look. The listener is told the outcome,
   * perhaps
   * much later.
   */
  prompt(text: string, listener: PromptListener): Promise<UnfinishedPrompt | undefined>
  /** Whether the relay knows a way to interrupt a turn of this program. */
  readonly canInterrupt: boolean
  /**
   * Interrupts the turn that is under way: the program stays, and takes back what the turn has asked. Called only while a turn is under way and no
   * prompt is being given. Resolves when the program was told; `look` shows when the turn is over.
   */
  interrupt(): Promise<void>
  /** Stops watching the program, giving it prompts and answering its questions. */
  end(): void
}

/** The place where people see what the program does: its terminal, or the transcript that stands for one. */
export interface TerminalInput {
  /** Takes a person's input, typed there or at the line below the transcript. */
  type(data: string): void
  resize(cols: number, rows: number): void
}

/** The outcome of a prompt: one of the two is called, once, unless the program ends before. */
export interface PromptListener {
  /** Called as soon as it is known that the program has the prompt. */
  onTaken(route: Route): Promise<void>
  /** The model does not have the prompt. `why`: in the words of the program; left out where the program was not given it at all. */
  onRefused(why?: string): void
}

/** Whether a turn is under way; a program that waits for a person is in one. */
export function isInTurn({ state, isBetweenTurns }: ControlState): boolean {
  return state === 'busy' || (state === 'blocked' && !isBetweenTurns)
}

export type UnfinishedPrompt = () => Promise<UnfinishedPrompt | undefined>

export interface ControlState {
  state: 'starting' | 'busy' | 'idle' | 'blocked'
  /** With `blocked`: the reason why the program waits. */
  reason?: string
  /** With `blocked`: the question was answered a moment ago, and the screen may not show that yet. */
  isAnswered?: boolean
  /** With `blocked`: no turn is under way, so that there is nothing to interrupt. */
  isBetweenTurns?: true
  /** When to look again, if nothing happens before. */
  lookAgainMs?: number
  /** With `idle`: how long a person who types is not to be interrupted. */
  typingMs?: number
}

/** Events that a control reports to its worker. */
export interface ControlListener {
  /** The program's state may have changed. `ms`: call `look` after this long at the latest. */
  onChange(ms?: number): void
  onExit(exit: ProgramExit): void
  /** The program cannot be talked to this way. Called once, in place of `onExit`. `hasTalked`: a turn has ended, of which only this program knows. */
  onBroken(why: string, hasTalked: boolean): void
  /** The usage of turn number `n` of the conversation, where the program reports it. */
  onSpent(n: number, spend: TurnSpend): void
  /** The program has begun a turn in this conversation, in which a later program can go on. */
  onConversation(id: string): void
  /** Something went wrong that the worker's parent cannot fix. */
  onTrouble(error: Error): void
}
