// The types of a command: its options, its help with examples, and the function that runs it. catalog.ts lists all commands.

import type { Env } from '@agent-relay/sdk/internal/discover'
import type { CompletionKind } from './complete.ts'
import type { Printer } from './print.ts'

/** One line in a list of commands: what `agent-relay --help` shows without loading the command itself. */
export interface CommandSummary {
  name: string
  /** The noun's other form, singular or plural, which works too. */
  alias?: string
  /** The arguments as commander writes them: `<to> <message>`. */
  args?: string
  text: string
  /** A group only holds other commands and takes no options; called alone, it runs its default command. */
  isGroup?: boolean
  isHidden?: boolean
}

/** One command of the list, loaded when it is asked for. */
export interface CatalogRow extends CommandSummary {
  load(): Promise<CliCommand>
}

/** The exit code of a command that did its work; nothing means 0. A command that fails throws. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing, which is 0
export type ExitCode = number | void

/** A command without its name. `Own` is the type of its own options. */
export interface CliCommand<Own extends object = object> {
  options?: Own & CliOptions
  examples?: string[]
  /** Words that shells offer for the first argument. */
  words?: readonly string[]
  /** The kind of the first argument, which shells complete. */
  argumentKind?: CompletionKind
  /** The command acts for no agent, so `--as` is accepted but not shown. */
  actsForNoAgent?: boolean
  commands?: NamedCommand[]
  run?(context: CommandContext<Own>): Promise<ExitCode>
}

export interface NamedCommand<Own extends object = object> extends CommandSummary, CliCommand<Own> {
  /** This command runs when its group is called alone. */
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
  /** The least and greatest value of an option that is a whole number. */
  number?: [number, number]
  choices?: readonly string[]
  /** Words that shells offer for the value; other values are accepted too. */
  words?: readonly string[]
  /** The option may be given several times. */
  isList?: true
  isHidden?: boolean
}

/** The argument of every command's `run`. */
export interface CommandContext<Own extends object = object> {
  args: string[]
  /** The part of `args` that stood after `--`. */
  passedArgs: string[]
  options: OptionValues<Own> & Omit<CommonOptions, keyof Own>
  print: Printer
  env: Env
  /** Undefined where the working directory has been deleted. */
  cwd: string | undefined
}

/** The options that every command takes. */
export interface CommonOptions {
  json?: boolean
  project?: string
  as?: string
}

/** Ends the command with a text and an exit code of its own, where no refusal covers the case. */
export class CommandError extends Error {
  readonly exit: number
  /** The JSON answer that was printed already tells programs of the failure. */
  readonly isPrintedAsJson: boolean
  constructor(message: string, exit: number, { isPrintedAsJson = false } = {}) {
    super(message)
    this.name = 'CommandError'
    this.exit = exit
    this.isPrintedAsJson = isPrintedAsJson
  }
}

/** The exit codes of commands. A background daemon tells its starter `lostRace`, which no person sees. */
export const exitCodes = {
  refused: 1,
  usage: 2,
  notRunning: 69,
  busy: 75,
  lostRace: 76,
  denied: 77,
  config: 78,
} as const
