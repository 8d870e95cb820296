// The contract of a control, through which the supervisor talks to a worker's program. It has two parts: a prompt channel, which gives texts to the
// model and knows the program's state, and the terminal's input, for people. pty-control.ts types and reads the screen, and uses the CLI's own server
// if there is one; acp-control.ts speaks ACP. prompt-scheduler.ts decides which text is given, and when.

import type { Route, WorkerControlName } from '@agent-relay/sdk/protocol'
import type { MailLimits } from '../../broker/waking/user-session-runtime.ts'
import type { ProgramExit } from '../pty.ts'
import type { TurnSpend } from './acp-usage.ts'

export interface ProgramControl extends PromptChannel, TerminalInput {
  readonly name: WorkerControlName
  readonly pid: number
  /** Ways to ask the program to exit, to be tried in this order. */
  exitSteps(): readonly (() => unknown)[]
}

/** Gives texts to the program's model, and knows the program's state. */
export interface PromptChannel {
  /** The limits of the mail in one prompt. */
  readonly mailRoom: MailLimits
  /** Whether a program is ready for its task as soon as it is idle. False: it is ready once it has connected to our MCP server. */
  readonly isReadyWhenIdle: boolean
  look(): Promise<ControlState>
  /** Whether a dialog is on the screen at this moment, in the queue of approvals or not. Left out for a program that asks in another way. */
  isBlocked?(): Promise<boolean>
  /** Called when the worker's parent was told that the worker is blocked. */
  onBlockedReported?(): void
  /**
   * Gives a text to the model. Called only for an idle program, and never while an earlier prompt is under way. Resolves to undefined when the text
   * is on its way. If a dialog has opened in between, resolves to the rest of the work, which is to be done when the program is idle again. The
   * listener is told the outcome, perhaps much later.
   */
  prompt(text: string, listener: PromptListener): Promise<UnfinishedPrompt | undefined>
  /** Whether the relay knows a way to interrupt a turn of this program. */
  readonly canInterrupt: boolean
  /**
   * Interrupts the turn that is under way: the program keeps running, and takes back the questions of the turn. Called only while a turn is under way
   * and no prompt is being given. Resolves when the program was told; `look` shows when the turn has ended.
   */
  interrupt(): Promise<void>
  /** Stops watching the program, giving it prompts and answering its questions. */
  end(): void
}

/** The place where people watch the program: its terminal, or the transcript that replaces a terminal. */
export interface TerminalInput {
  /** Takes a person's input, typed in the terminal or in the line below the transcript. */
  type(data: string): void
  resize(cols: number, rows: number): void
}

/** Told the outcome of a prompt: one of the two methods is called, once, unless the program ends before. */
export interface PromptListener {
  /** Called as soon as it is known that the program has the prompt. */
  onTaken(route: Route): Promise<void>
  /** Called when the model does not have the prompt. `why`: the program's own words; left out if the program was not given the prompt at all. */
  onRefused(why?: string): void
}

/** Whether a turn is under way. It is, too, while the program waits for a person, except between turns. */
export function isInTurn({ state, isBetweenTurns }: ControlState): boolean {
  return state === 'busy' || (state === 'blocked' && !isBetweenTurns)
}

export type UnfinishedPrompt = () => Promise<UnfinishedPrompt | undefined>

export interface ControlState {
  state: 'starting' | 'busy' | 'idle' | 'blocked'
  /** If the state is `blocked`: the reason why the program waits. */
  reason?: string
  /** If the state is `blocked`: the question was answered a moment ago, and the screen may not show that yet. */
  isAnswered?: boolean
  /** If the state is `blocked`: no turn is under way, so that there is nothing to interrupt. */
  isBetweenTurns?: true
  /** Milliseconds after which to read the state again, if nothing happens before. */
  lookAgainMs?: number
  /** If the state is `idle`: milliseconds for which nothing may be typed, because a person is typing. */
  typingMs?: number
}

/** Events that a control reports to its worker. */
export interface ControlListener {
  /** Called when the program's state may have changed. `ms`: read the state within this time; left out: at once. */
  onChange(ms?: number): void
  onExit(exit: ProgramExit): void
  /**
   * Called once, in place of `onExit`, when the program cannot be used through this control. `hasTalked`: a turn has ended, which only this program
   * remembers.
   */
  onBroken(why: string, hasTalked: boolean): void
  /** Called with the usage of the conversation's turn number `n`, if the program reports it. */
  onSpent(n: number, spend: TurnSpend): void
  /** Called when the program has begun a turn in this conversation, which a later program can continue. */
  onConversation(id: string): void
  /** Called with an error that the worker's parent cannot fix. */
  onTrouble(error: Error): void
}
