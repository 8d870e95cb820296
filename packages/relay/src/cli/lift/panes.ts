// What a lift needs of a terminal multiplexer. tmux.ts and kitty.ts are two; every program is run with a list of arguments, never through a shell.

import { spawn } from 'node:child_process'
import { CommandError, exits } from '../command.ts'

export interface Panes {
  /** Opens a place of its own for the relay, from outside, and runs `argv` in it. */
  begin(argv: readonly string[], where: Where): Promise<Stage>
  /** From inside that place: one more pane beside the relay's. */
  open(argv: readonly string[], where: Where): Promise<string>
  /** All panes are there. */
  arrange(): Promise<void>
  view(pane: string): Promise<View>
  /** The user is in it, and has just pressed a key: what is typed there would mix with theirs. */
  isAttended(pane: string): Promise<boolean>
  /** As one paste, so that no line of it is taken for an Enter. */
  paste(pane: string, text: string): Promise<void>
  enter(pane: string): Promise<void>
  /** One that is gone already is no error. */
  close(pane: string): Promise<void>
}

/** A user who has pressed no key for so long is not in the middle of a sentence. */
export const attendedMs = 60_000

export interface Where {
  title: string
  cwd: string
}

export interface Stage {
  /** Brings it before the user, as far as that is possible from here; resolves when the user has left it. */
  show(): Promise<void>
  /** How to get there, for a user who is not brought. */
  readonly hint: string | undefined
}

export interface View {
  title: string
  lines: string[]
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** Runs to the end; `input` goes to its stdin. Rejects only where there is no such program. */
export function run(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const ran: Ran = { code: 1, stdout: '', stderr: '' }
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

/** The same where anything but success is a failure of the whole lift. */
export async function must(program: string, args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, input)
  if (code !== 0)
    throw new CommandError(`${program} ${args[0]}: ${stderr.trim() || `ended with ${code}`}`, exits.refused)
  return stdout.trim()
}

export async function isInstalled(program: string, flag: string): Promise<boolean> {
  try {
    return (await run(program, [flag])).code === 0
  } catch {
    return false
  }
}
