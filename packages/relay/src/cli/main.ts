// The entry point of `agent-relay`: builds commander's commands from the catalog, runs the one that was typed, and turns an error into a text and an exit code.

import { type Env, workingDirectory } from '@agent-relay/sdk/internal/discover'
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander'
import { nearestNames } from '../core/nearest.ts'
import { version } from '../machine/version.ts'
import { commandCatalog, commandGroups, dailyCommands, loadCommand } from './catalog.ts'
import { type CliOption, type CommandContext, type CommandSummary, exitCodes, type NamedCommand } from './command.ts'
import { exitWhenOutputCloses } from './ending.ts'
import type { CommandFailure } from './exit.ts'
import { allOptions } from './options.ts'
import { type RepeatedOptions, withCommandsAsTyped } from './own-name.ts'
import { Printer } from './print.ts'

/** The streams, environment variables and working directory of a command. */
export interface CommandShell {
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  env: Env
  /** Undefined if the working directory was deleted. */
  cwd: string | undefined
}

/** Runs a command that the package commander has found. */
type RunNamed = (command: Command, named: NamedCommand) => Promise<void>

export async function main(argv: string[]): Promise<void> {
  exitWhenOutputCloses()
  const { stdout, stderr, env } = process
  const exit = await runCommandLine(argv, { stdout, stderr, env, cwd: workingDirectory() })
  if (exit !== 0) process.exitCode = exit
}

/** Runs one command line, and returns its exit code. */
export async function runCommandLine(typed: string[], shell: CommandShell): Promise<number> {
  const argv = withCatalogNames(typed)
  const isJson = optionWords(argv).includes('--json')
  const repeated = repeatedIn(argv)
  // If stdout is a terminal, the failure is printed only as JSON: stderr would appear on the same screen.
  const say =
    isJson && shell.stdout.isTTY
      ? () => {}
      : (text: string) => void shell.stderr.write(withCommandsAsTyped(text, shell.env, repeated))
  let exit = 0
  const act: RunNamed = async (command, named) => {
    exit = await run(command, named, { ...shell, passedArgs: argv.slice(optionWords(argv).length + 1) }, repeated)
  }
  try {
    await (await buildProgram(argv, shell, say, act)).parseAsync(argv)
    return exit
  } catch (error) {
    // Commander throws for `--help` and `--version` too, which are no errors.
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    const failure = error instanceof CommanderError ? misuseFailure(error) : await reportFailure(error, say)
    if (isJson && !failure.isPrintedAsJson) await printFailure(failure, shell, repeated)
    return failure.exit
  }
}

/** Replaces the other form of a noun by the name in the catalog: `channel` becomes `channels`, also after `help`. */
function withCatalogNames(argv: string[]): string[] {
  const at = argv.findIndex((word, i) => i > 1 && !word.startsWith('-') && word !== 'help')
  const noun = commandCatalog.find(({ alias }) => alias !== undefined && alias === argv[at])
  return noun ? argv.with(at, noun.name) : argv
}

/** Returns the words before `--`. They are not parsed, since the command line may be invalid. */
function optionWords(argv: string[]): string[] {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? undefined : end)
}

function repeatedIn(argv: string[]): RepeatedOptions {
  const words = optionWords(argv).flatMap((word) => (/^--(?:as|project)=/.test(word) ? word.split('=', 2) : [word]))
  const options = ['--as', '--project'].flatMap((option) => {
    const value = words.includes(option) ? (words[words.lastIndexOf(option) + 1] ?? '') : ''
    return /^[A-Za-z0-9][\w.-]*$/.test(value) ? [`${option} ${value}`] : []
  })
  const rows = commandGroups.flatMap((group) => (group.isForAgents ? group.rows : []))
  return { options, commands: rows.map(({ name, isGroup }) => (isGroup ? `${name}(?: [a-z]+)?` : name)).join('|') }
}

/** Describes a mistyped command line as a failure. Commander has printed the text already. */
function misuseFailure({ message }: CommanderError): CommandFailure {
  return { code: 'usage', text: message.replace(/^error: /, ''), exit: exitCodes.usage }
}

async function reportFailure(error: unknown, say: (text: string) => void): Promise<CommandFailure> {
  const { describeFailure } = await import('./exit.ts')
  const failure = await describeFailure(error)
  say(`${failure.trace ?? failure.text}\n`)
  return failure
}

/** Prints a failure as JSON, in the format that all commands share. */
async function printFailure(
  { code, text, details = {} }: CommandFailure,
  { stdout, stderr, env }: CommandShell,
  repeated: RepeatedOptions,
): Promise<void> {
  const print = new Printer(stdout, stderr, env, true, repeated)
  const isDetailed = Object.keys(details).length > 0
  await print.json({ error: { code, message: print.typed(text), ...(isDetailed ? { details } : {}) } })
}

/** Builds commander's commands. Only the command to run is loaded; of the others, only the line in the help is known. */
async function buildProgram(
  argv: string[],
  { stdout, env }: CommandShell,
  say: (text: string) => void,
  act: RunNamed,
): Promise<Command> {
  const [first, second] = argv.slice(2).filter((word) => !word.startsWith('-'))
  const showsAll = first === 'help' && second === 'all'
  const root = new Command('agent-relay')
    .description('AI coding agents on one machine talk to each other.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(withCommandsAsTyped(text, env)),
      writeErr: say,
    })
    .showHelpAfterError('(see: agent-relay help all)')
    .addHelpText(
      'after',
      examplesText([
        'agent-relay setup',
        'agent-relay spawn Fixer --task "Fix the failing test"',
        'agent-relay send Fixer "Look at the parser, too"',
      ]),
    )
    .addHelpText('after', '\nEvery command: agent-relay help all\nOne command:   agent-relay help send')
  root.configureHelp({ formatHelp: (command, help) => formatHelp(command, help, command === root && !showsAll) })
  const asked = first === 'help' ? second : first
  // Only help and a mistyped name need the other commands.
  const isAlone = argv[2] === asked && commandCatalog.some(({ name }) => name === asked)
  for (const { title, rows } of commandGroups) {
    for (const row of rows) {
      if (isAlone && row.name !== asked) continue
      const command = row.name === asked ? buildCommand(await loadCommand(row), root, act) : summaryCommand(row, root)
      root.addCommand(command.helpGroup(showsAll ? `${title}:` : 'The commands of a day:'), { hidden: row.isHidden })
    }
  }
  return root.addCommand(helpCommand(root).helpGroup('Care:'))
}

/** Formats the help of a command. The help of `agent-relay` itself lists ten commands; the others work too, but are listed only by `help all`. */
function formatHelp(command: Command, help: Help, isDaily: boolean): string {
  const findDaily = (name: string) => command.commands.find((each) => each.name() === name) ?? []
  if (isDaily) help.visibleCommands = () => dailyCommands.flatMap(findDaily)
  help.subcommandTerm = (each) => Help.prototype.subcommandTerm.call(help, each).replace(' [options]', '')
  return Help.prototype.formatHelp.call(help, command, help)
}

/** Returns the command `help`. Commander's own takes only one word: its `help mcp install` would show the help of `mcp`. */
function helpCommand(root: Command): Command {
  return root
    .createCommand('help')
    .description('show the help of a command, or with the word all every command')
    .argument('[command...]')
    .copyInheritedSettings(root)
    .helpOption('-h, --help', 'show this help')
    .addHelpText(
      'after',
      examplesText(['agent-relay help all', 'agent-relay help send', 'agent-relay help mcp install']),
    )
    .action((words: string[]) => {
      let command = root
      for (const word of words[0] === 'all' ? [] : words) {
        const next = command.commands.find((each) => each.name() === word)
        if (!next) command.error(`error: unknown command '${word}'`)
        else command = next
      }
      command.outputHelp()
    })
}

/** Returns a command with only its name, description and arguments, for the help of its parent. */
function summaryCommand(line: CommandSummary, parent: Command): Command {
  const command = parent.createCommand(line.name).description(line.text)
  if (line.args !== undefined) command.arguments(line.args)
  return command
}

function buildCommand(
  named: NamedCommand,
  parent: Command,
  act: RunNamed,
  path = `agent-relay ${named.name}`,
): Command {
  const command = summaryCommand(named, parent).copyInheritedSettings(parent)
  for (const option of allOptions(named)) command.addOption(optionOf(option))
  command.helpOption('-h, --help', 'show this help')
  const examples = named.examples ?? named.commands?.flatMap(firstExample) ?? []
  if (examples.length > 0) command.addHelpText('after', examplesText(examples))
  for (const sub of named.commands ?? []) {
    command.addCommand(buildCommand(sub, command, act, `${path} ${sub.name}`), {
      hidden: sub.isHidden,
      isDefault: sub.isDefault,
    })
  }
  if (named.isDefault) {
    const isImplied = () => parent.args[0] !== named.name
    // Only the group's name was typed, so an argument that fits nothing is rather a wrong word for a command than one too many.
    parent.hook('preSubcommand', () => void command.allowExcessArguments(isImplied()))
    command.action(async () => {
      const [word] = command.args
      if (word === undefined || !isImplied()) return act(command, named)
      const names = parent.commands.map((each) => each.name())
      if (names.includes(word)) {
        // An option stood before the command: `daemon --json status` is read as `daemon status --json`.
        const others = parent.args.toSpliced(parent.args.indexOf(word), 1)
        return void (await parent.parseAsync([word, ...others], { from: 'user' }))
      }
      if (named.args !== undefined) return act(command, named)
      const [near] = nearestNames(word, names)
      const guess = near === undefined ? '' : `\n(Did you mean ${near}?)`
      parent.error(`error: unknown command '${word}'${guess}`)
    })
  } else if (named.run) command.action(() => act(command, named))
  command.showHelpAfterError(`(see: ${path} --help)`)
  return command
}

async function run(
  command: Command,
  named: NamedCommand,
  { stdout, stderr, env, cwd, passedArgs }: CommandShell & Pick<CommandContext, 'passedArgs'>,
  repeated: RepeatedOptions,
): Promise<number> {
  // Options of the parent command are included, as in `lift --port 7400 prompt pm`.
  const options: CommandContext['options'] = command.optsWithGlobals()
  const print = new Printer(stdout, stderr, env, options.json, repeated)
  return (await named.run?.({ args: command.args, passedArgs, options, print, env, cwd })) ?? 0
}

function optionOf({ flags, text, number, choices, isList, isHidden }: CliOption): Option {
  const option = new Option(flags, text).hideHelp(isHidden === true)
  if (choices) option.choices(choices)
  if (number) option.argParser((value) => wholeNumber(value, number))
  if (isList) option.argParser((value, before: string[] | undefined) => [...(before ?? []), value])
  return option
}

function wholeNumber(text: string, [least, greatest]: [number, number]): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= greatest) return value
  throw new InvalidArgumentError(`It must be a whole number from ${least} to ${greatest}.`)
}

/** Returns a command's first example. The help of a group without examples shows one of each of its commands. */
function firstExample({ examples = [], isHidden }: NamedCommand): string[] {
  return isHidden ? [] : examples.slice(0, 1)
}

function examplesText(examples: string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`
}
