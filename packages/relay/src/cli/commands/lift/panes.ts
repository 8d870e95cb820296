// The interface of a terminal multiplexer for a lift, implemented by tmux.ts and kitty.ts. Programs are run with a list of arguments, never through a shell.

import { spawn } from 'node:child_process'
import { CommandError, exitCodes } from '../../command.ts'

export interface TerminalPanes {
  /** Opens a window or tab for the lift, from outside, and runs `argv` in it. */
  openWindow(argv: readonly string[], where: PanePlace): Promise<LiftWindow>
  /** Opens one more pane beside the relay's, from inside. */
  openPane(argv: readonly string[], where: PanePlace): Promise<string>
  /** Lays the panes out; called when all of them are open. */
  arrangePanes(): Promise<void>
  readScreen(pane: string): Promise<PaneScreen>
  /** Whether the user is typing in the pane: our text would mix with theirs. */
  isAttended(pane: string): Promise<boolean>
  /** Pastes the text in one piece, so that no line break is taken as Enter. */
  pasteText(pane: string, text: string): Promise<void>
  pressEnter(pane: string): Promise<void>
  /** Closes the pane; does nothing if it is already gone. */
  closePane(pane: string): Promise<void>
}

/** A user who has pressed no key for this long is not typing a sentence. */
export const attendedMs = 60_000

export interface PanePlace {
  title: string
  cwd: string
}

export interface LiftWindow {
  /** Shows the window to the user if possible; resolves when the user has left it. */
  show(): Promise<void>
  /** The command that shows the window. */
  readonly showCommand: string | undefined
}

export interface PaneScreen {
  title: string
  lines: string[]
}

export interface ProgramResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program to its end, with `input` on its stdin. Rejects only if there is no such program. */
export function runProgram(program: string, args: readonly string[], input = ''): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const ran: ProgramResult = { code: 1, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      ran.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      ran.stderr += text
    })
    child.stdin.on('error', () => {})
    child.once('error', reject)
    child.once('close', (code) => resolve({ ...ran, code: code ?? 1 }))
    child.stdin.end(input)
  })
}

/** Runs a program and returns its stdout. Any exit code except 0 is an error. */
export async function runOrFail(program: string, args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, input)
  if (code !== 0)
    throw new CommandError(`${program} ${args[0]}: ${stderr.trim() || `ended with ${code}`}`, exitCodes.refused)
  return stdout.trim()
}

export async function isProgramInstalled(program: string, flag: string): Promise<boolean> {
  try {
    return (await runProgram(program, [flag])).code === 0
  } catch {
    return false
  }
}
