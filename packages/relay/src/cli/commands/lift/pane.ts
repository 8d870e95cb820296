// The program in one role's pane: the relay writes the program to run into FILE, and `lift pane FILE` runs it there, without a shell.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { endingSignal } from '../../ending.ts'

export interface PaneOrder {
  role: string
  program: string
  args: string[]
  cwd: string
  /** All environment variables of the program, except those that name its pane. */
  env: Record<string, string>
  /** The file into which the pane writes its process id, so that the relay can wait for its end. */
  pidPath: string
}

/** Times in ms after SIGHUP at which a program that still runs gets SIGTERM, and then SIGKILL. */
const [termMs, killMs] = [2_000, 4_000]

export function writePaneOrder(path: string, order: PaneOrder): void {
  writeFileSync(path, JSON.stringify(order), { mode: 0o600 })
}

/** Returns the variables that tell a program in which pane it runs. They come from the pane, not from the user's environment. */
export function paneVariables({ TMUX, TMUX_PANE, KITTY_WINDOW_ID, KITTY_LISTEN_ON, KITTY_PID, TERM }: Env): Env {
  return { TMUX, TMUX_PANE, KITTY_WINDOW_ID, KITTY_LISTEN_ON, KITTY_PID, TERM }
}

/** Runs the role's program. Ends when the program has ended and the user has pressed Enter, or when the pane is closed. */
export async function runPane(path: string): Promise<void> {
  const { role, program, args, cwd, env, pidPath } = JSON.parse(readFileSync(path, 'utf8')) as PaneOrder
  writeFileSync(pidPath, String(process.pid), { mode: 0o600 })
  const child = spawn(program, args, { cwd, env: { ...env, ...paneVariables(process.env) }, stdio: 'inherit' })
  // Ignored here: the terminal sends Ctrl-C to the program as well, for which it is meant.
  process.on('SIGINT', () => {})
  const ending = endingSignal(['SIGHUP', 'SIGTERM'])
  ending.addEventListener('abort', () => end(child))
  // If this process ends in any way, the program is killed.
  process.on('exit', () => child.kill('SIGKILL'))
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, signal) => resolve(`has ended (${signal ?? code})`))
  })
  if (ending.aborted) process.exit(0)
  process.stdout.write(`\n${role}: ${program} ${how}. Enter closes this pane.\n`)
  process.stdin.setRawMode?.(false)
  process.stdin.resume()
  process.stdin.once('data', () => process.exit(0)).once('end', () => process.exit(0))
}

function end(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) process.exit(0)
  child.kill('SIGHUP')
  setTimeout(() => child.kill('SIGTERM'), termMs)
  setTimeout(() => child.kill('SIGKILL'), killMs)
}
