// What a command is: its options, its help with examples, and the function that runs it. The list of all commands is catalog.ts.

import type { Env } from '@agent-relay/sdk/internal/discover'
import type { Completed } from './complete.ts'
import type { Print } from './print.ts'

/** One line in a list of commands: what `agent-relay --help` shows without loading the command itself. */
export interface CommandLine {
  name: string
  /** The same noun in singular or plural, which works too. */
  alias?: string
  /** As commander writes them: `<to> <message>`. */
  args?: string
  text: string
  /** It only holds other commands, and takes no options; by itself it does what its default command does. */
  isGroup?: boolean
  isHidden?: boolean
}

/** One command of the list, loaded when it is asked for. */
export interface CatalogRow extends CommandLine {
  load(): Promise<CliCommand>
}

/** What a command that did its work may still end with. A command that fails throws. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing, which is 0
export type ExitCode = number | void

/** A command without its name. `Own` are its options, as its `run` function reads them. */
export interface CliCommand<Own extends object = object> {
  options?: CliOptions<Own>
  examples?: string[]
  /** What shells offer for its first argument. */
  words?: readonly string[]
  /** What its first argument is: shells complete it. */
  takes?: Completed
  /** Acts for nobody, so `--as` is accepted but not shown. */
  isNobody?: boolean
  commands?: NamedCommand[]
  run?(context: Context<Own>): Promise<ExitCode>
}

export interface NamedCommand<Own extends object = object> extends CommandLine, CliCommand<Own> {
  /** What its group does when no command is named. */
  isDefault?: boolean
}

/** One rule for every option of the type, by its name there, in the order that `--help` shows. */
export type CliOptions<Own> = { [Name in keyof Own]-?: CliOption & ValueRule<NonNullable<Own[Name]>> }
type ValueRule<Value> = Value extends number
  ? { number: [number, number] }
  : Value extends string[]
    ? { isList: true }
    : unknown

export interface CliOption {
  flags: string
  text: string
  /** A whole number, with its least and greatest value. */
  number?: [number, number]
  choices?: readonly string[]
  /** What shells offer for it; other values are accepted too. */
  words?: readonly string[]
  /** May be given several times. */
  isList?: boolean
  isHidden?: boolean
}

/** What every command is given. */
export interface Context<Own extends object = object> {
  args: string[]
  /** Those of them that stood after `--`. */
  passed: string[]
  options: Own & Omit<CommonOptions, keyof Own>
  print: Print
  env: Env
  /** Undefined where the working directory was deleted under us. */
  cwd: string | undefined
}

/** The options that every command takes. */
export interface CommonOptions {
  json?: boolean
  project?: string
  as?: string
}

/** Ends the command with this text and exit code, where no refusal covers the case. */
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
