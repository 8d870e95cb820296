// What every command is given, and what it may throw to end with a certain exit code. The list of commands is catalog.ts.

import type { Env } from '@agent-relay/sdk/discover'
import type { Print } from './print.ts'

/** Every option of every command, as commander hands it over. */
export interface Options {
  json?: boolean
  project?: string
  as?: string
  all?: boolean
  allowOrigin?: string[]
  allowRemote?: boolean
  channel?: string
  follow?: boolean
  from?: string
  home?: string
  host?: string
  http?: boolean
  kind?: 'status' | 'question' | 'directive' | 'free'
  limit?: number
  lines?: number
  memory?: boolean
  open?: boolean
  peek?: boolean
  port?: number
  quiet?: boolean
  remove?: boolean
  replyTo?: string
  rotate?: boolean
  since?: number
  terminal?: string[]
  test?: boolean
  thread?: string
  timeout?: number
  tools?: string
  type?: string[]
  wait?: boolean
  workspace?: string
  writers?: string
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
  constructor(message: string, exit: number) {
    super(message)
    this.name = 'CommandError'
    this.exit = exit
  }
}

/** `lostRace` stays between a background daemon and its starter. */
export const exits = { refused: 1, usage: 2, notRunning: 69, busy: 75, lostRace: 76, denied: 77, config: 78 } as const
