// What a lift needs of a terminal multiplexer, implemented by tmux.ts and kitty.ts. Programs get their arguments as a list, never through a shell.

import { spawn } from 'node:child_process'
import { CommandError, exitCodes } from '../../command.ts'

export interface TerminalPanes {
  /** Opens the lift's window or tab and runs `argv` in it. Called outside of that window. */
  openWindow(argv: readonly string[], where: PanePlace): Promise<LiftWindow>
  /** Opens another pane beside the relay's. Called in the relay's own pane. Returns the pane's id. */
  openPane(argv: readonly string[], where: PanePlace): Promise<string>
  /** Arranges the panes, after all of them were opened. */
  arrangePanes(): Promise<void>
  readScreen(pane: string): Promise<PaneScreen>
  /** Whether the user may be typing in the pane, where a text of ours would mix with theirs. */
  isAttended(pane: string): Promise<boolean>
  /** Pastes a text as one piece: the program does not take its line breaks as Enter. */
  pasteText(pane: string, text: string): Promise<void>
  pressEnter(pane: string): Promise<void>
  /** Closes the pane; does nothing if it was closed before. */
  closePane(pane: string): Promise<void>
}

/** Time in ms without a key after which the user counts as not typing. */
export const userIdleMs = 60_000

export interface PanePlace {
  title: string
  cwd: string
}

export interface LiftWindow {
  /** Shows the window to the user, if that is possible. Resolves when the user has left it. */
  show(): Promise<void>
  /** The command with which the user shows the window again; undefined if there is none. */
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

/** Runs a program to its end, with `input` on its stdin. Rejects only if the program could not be started. */
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

/** Runs a program and returns its stdout. Rejects if its exit code is not 0. */
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
