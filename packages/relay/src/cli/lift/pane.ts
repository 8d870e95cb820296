// One role's pane: what runs in it, written down by the relay, and run there by `lift pane FILE`. Nothing of it passes through a shell.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { awaitEnding } from '../ending.ts'

export interface PaneOrder {
  role: string
  program: string
  args: string[]
  cwd: string
  /** The whole environment. */
  env: Record<string, string>
  /** Where the pane writes down its process id, so that the relay can see it end. */
  pidPath: string
}

/** A program that was asked politely, and one that was asked again. */
const [termMs, killMs] = [2_000, 4_000]

export function writeOrder(path: string, order: PaneOrder): void {
  writeFileSync(path, JSON.stringify(order), { mode: 0o600 })
}

/** Stays until the program has ended and the user has seen how, or until the pane is closed; then nothing of it is left. */
export async function runPane(path: string): Promise<void> {
  const { role, program, args, cwd, env, pidPath } = JSON.parse(readFileSync(path, 'utf8')) as PaneOrder
  writeFileSync(pidPath, String(process.pid), { mode: 0o600 })
  const child = spawn(program, args, { cwd, env, stdio: 'inherit' })
  // Ctrl-C is for the program, which is in the same group and gets it too.
  process.on('SIGINT', () => {})
  const ending = awaitEnding(['SIGHUP', 'SIGTERM'])
  ending.addEventListener('abort', () => end(child))
  // Whatever else ends us: it is not left behind.
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
