// The types of a command: its options, its help with examples, and the function that runs it. catalog.ts lists all commands.

import type { Env } from '@agent-relay/sdk/internal/discover'
import type { CompletionKind } from './complete.ts'
import type { Printer } from './print.ts'

/** The description of a command that lists show, such as `agent-relay --help`, without loading the command. */
export interface CommandSummary {
  name: string
  /** A second name of the command: the singular or plural of its noun. */
  alias?: string
  /** The arguments in the syntax of the package commander: `<to> <message>`. */
  args?: string
  text: string
  /** A group contains other commands and has no options. Called without a subcommand, it runs its default command. */
  isGroup?: boolean
  isHidden?: boolean
}

/** A row in the list of commands; `load` imports the file of the command. */
export interface CatalogRow extends CommandSummary {
  load(): Promise<CliCommand>
}

/** The exit code of a command that succeeded; undefined means 0. A command that fails throws. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing, which is 0
export type ExitCode = number | void

/** A command without its name. `Own` is the type of its own options. */
export interface CliCommand<Own extends object = object> {
  options?: Own & CliOptions
  examples?: string[]
  /** Words that shells offer for the command's first argument. */
  words?: readonly string[]
  /** What the command's first argument names, such as an agent: shells ask for all such names and offer them. */
  argumentKind?: CompletionKind
  /** The command acts for no agent. It accepts the common option `--as`, but its help does not show it. */
  actsForNoAgent?: boolean
  commands?: NamedCommand[]
  run?(context: CommandContext<Own>): Promise<ExitCode>
}

export interface NamedCommand<Own extends object = object> extends CommandSummary, CliCommand<Own> {
  /** Whether this command runs if its group is called without a subcommand. */
  isDefault?: boolean
}

/** The options of a command by the names under which `run` reads them, in the order that `--help` shows. */
export type CliOptions = Readonly<Record<string, CliOption>>

/** The values of options, as their rules say: a number, one of the choices, several texts, a text, or whether the option was given. */
export type OptionValues<Own extends object> = { [Name in keyof Own]?: OptionValue<Own[Name]> }
type OptionValue<Option> = Option extends { number: unknown }
  ? number
  : Option extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Option extends { isList: true }
      ? string[]
      : Option extends { flags: `${string}<${string}` }
        ? string
        : boolean

export interface CliOption {
  flags: `-${string}`
  text: string
  /** The minimum and maximum of an option whose value is a whole number. */
  number?: [number, number]
  choices?: readonly string[]
  /** Words that shells offer for the option's value; other values are accepted too. */
  words?: readonly string[]
  /** Whether the option may be given several times. */
  isList?: true
  isHidden?: boolean
}

/** The argument of every command's `run`. */
export interface CommandContext<Own extends object = object> {
  args: string[]
  /** The arguments after `--`, which are part of `args` too. */
  passedArgs: string[]
  options: OptionValues<Own> & Omit<CommonOptions, keyof Own>
  print: Printer
  env: Env
  /** Undefined if the working directory was deleted. */
  cwd: string | undefined
}

/** The options that every command takes. */
export interface CommonOptions {
  json?: boolean
  project?: string
  as?: string
}

/** Ends the command with an error text and an exit code, for failures that have no refusal. */
export class CommandError extends Error {
  readonly exit: number
  /** Whether a JSON answer that tells programs of the failure was printed already. */
  readonly isPrintedAsJson: boolean
  constructor(message: string, exit: number, { isPrintedAsJson = false } = {}) {
    super(message)
    this.name = 'CommandError'
    this.exit = exit
    this.isPrintedAsJson = isPrintedAsJson
  }
}

/** The exit codes of commands. Only a background daemon uses `lostRace`: it tells the command that has started it that another process has the lock. */
export const exitCodes = {
  refused: 1,
  usage: 2,
  notRunning: 69,
  busy: 75,
  lostRace: 76,
  denied: 77,
  config: 78,
} as const
