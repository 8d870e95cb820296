// What every command is given, and what it may throw to end with a certain exit code. The list of commands is catalog.ts.

import type { Env } from '@agent-relay/sdk/discover'
import type { Print } from './print.ts'

/** Every option of every command, as commander hands it over. */
export interface Options {
  json?: boolean
  project?: string
  agent?: string
  all?: boolean
  allowOrigin?: string[]
  allowRemote?: boolean
  as?: string
  channel?: string
  cli?: string
  command?: string
  configure?: boolean
  contract?: string
  cwd?: string
  dryRun?: boolean
  editor?: string[]
  file?: string
  fix?: boolean
  follow?: boolean
  force?: boolean
  from?: string
  global?: boolean
  harness?: string
  home?: string
  hooks?: boolean
  host?: string
  http?: boolean
  journal?: boolean
  keep?: boolean
  kind?: 'status' | 'question' | 'directive' | 'free'
  kitty?: boolean
  limit?: number
  lines?: number
  logout?: boolean
  manual?: boolean
  memory?: boolean
  model?: string
  open?: boolean
  peek?: boolean
  port?: number
  quiet?: boolean
  reason?: string
  remove?: boolean
  replyTo?: string
  revoke?: boolean
  roles?: string
  rotate?: boolean
  since?: number
  task?: string
  terminal?: string[]
  test?: boolean
  thread?: string
  timeout?: number
  tmux?: boolean
  tools?: string
  type?: string[]
  unconfigure?: boolean
  wait?: boolean
  workspace?: string
  writers?: string
  yes?: boolean
}

export interface Invocation {
  args: string[]
  options: Options
  print: Print
  env: Env
  /** Undefined where the working directory was deleted under us. */
  cwd: string | undefined
}

export type Run = (invocation: Invocation) => Promise<void>

/** An end with a text and an exit code of its own, for what no refusal covers. */
export class CommandError extends Error {
  readonly exit: number
  /** The answer that was printed as JSON tells a program already. */
  readonly isAnswered: boolean
  constructor(message: string, exit: number, { isAnswered = false } = {}) {
    super(message)
    this.name = 'CommandError'
    this.exit = exit
    this.isAnswered = isAnswered
  }
}

/** `lostRace` stays between a background daemon and its starter. */
export const exits = { refused: 1, usage: 2, notRunning: 69, busy: 75, lostRace: 76, denied: 77, config: 78 } as const
