// The entry: builds the commands from the catalog, runs the one that was asked for, and turns what went wrong into a text and an exit code.

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { version } from '../version.ts'
import { catalog } from './catalog.ts'
import { exits, type Options } from './command.ts'
import { endWithReader } from './ending.ts'
import type { Failure } from './exit.ts'
import { asTyped } from './own-name.ts'
import { Print } from './print.ts'
import type { CommandRule, OptionRule } from './rule.ts'

export async function main(argv: string[]): Promise<void> {
  endWithReader()
  const isJson = asksForJson(argv)
  // A terminal shows both streams: there the JSON is enough.
  const say = isJson && process.stdout.isTTY ? () => {} : sayOnStderr
  try {
    await program(say).parseAsync(argv)
  } catch (error) {
    // Asking for help or the version is not wrong.
    if (error instanceof CommanderError && error.exitCode === 0) return
    const failure = error instanceof CommanderError ? misused(error) : await failed(error, say)
    process.exitCode = failure.exit
    if (isJson && !failure.isAnswered) await printFailure(failure)
  }
}

/** As far as the options go: also where they could not be read to the end. */
function asksForJson(argv: string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? undefined : end).includes('--json')
}

function sayOnStderr(text: string): void {
  process.stderr.write(asTyped(text, process.env))
}

/** Commander has said it already. */
function misused({ message }: CommanderError): Failure {
  return { code: 'usage', text: message.replace(/^error: /, ''), exit: exits.usage }
}

async function failed(error: unknown, say: (text: string) => void): Promise<Failure> {
  const { failureOf } = await import('./exit.ts')
  const failure = await failureOf(error)
  say(`${failure.trace ?? failure.text}\n`)
  return failure
}

/** The same for every command and every failure. */
async function printFailure({ code, text, details = {} }: Failure): Promise<void> {
  const print = new Print(process.stdout, process.stderr, process.env, true)
  const isDetailed = Object.keys(details).length > 0
  await print.json({ error: { code, message: print.typed(text), ...(isDetailed ? { details } : {}) } })
}

function program(say: (text: string) => void): Command {
  const root = new Command('agent-relay')
    .description('AI coding agents on one machine talk to each other.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(asTyped(text, process.env)),
      writeErr: say,
    })
    .showHelpAfterError('(see: agent-relay --help)')
    .addHelpText(
      'after',
      examplesText(['agent-relay up', 'agent-relay send Bob "Can you take the parser?"', 'agent-relay inbox']),
    )
  for (const rule of catalog) root.addCommand(commandOf(rule, root), { hidden: rule.isHidden })
  return root.addCommand(helpCommand(root))
}

/** Commander's own knows one word: `help mcp install` would show the help of `mcp`. */
function helpCommand(root: Command): Command {
  return root
    .createCommand('help')
    .description('show the help of a command')
    .argument('[command...]')
    .copyInheritedSettings(root)
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', examplesText(['agent-relay help send', 'agent-relay help mcp install']))
    .action((words: string[]) => {
      let command = root
      for (const word of words) {
        const next = command.commands.find((each) => each.name() === word)
        if (!next) command.error(`error: unknown command '${word}'`)
        else command = next
      }
      command.outputHelp()
    })
}

function commandOf(rule: CommandRule, parent: Command, path = `agent-relay ${rule.name}`): Command {
  const command = parent.createCommand(rule.name).description(rule.text).copyInheritedSettings(parent)
  command.helpOption('-h, --help', 'show this help')
  if (rule.args !== undefined) command.arguments(rule.args)
  for (const option of [...(rule.options ?? []), ...commonOptions(rule)]) command.addOption(optionOf(option))
  const examples = rule.examples ?? rule.commands?.flatMap(firstExample) ?? []
  if (examples.length > 0) command.addHelpText('after', examplesText(examples))
  for (const sub of rule.commands ?? []) {
    command.addCommand(commandOf(sub, command, `${path} ${sub.name}`), {
      hidden: sub.isHidden,
      isDefault: sub.isDefault,
    })
  }
  const { load } = rule
  if (load) command.action(async () => run(command, load))
  command.showHelpAfterError(`(see: ${path} --help)`)
  return command
}

/** The code of a command is loaded when it is asked for: nobody waits for what another command needs. */
async function run(command: Command, load: NonNullable<CommandRule['load']>): Promise<void> {
  // Also those of a command that this one belongs to: `lift --port 7400 prompt pm`.
  const options: Options = command.optsWithGlobals()
  const { workingDirectory } = await import('@agent-relay/sdk/discover')
  const print = new Print(process.stdout, process.stderr, process.env, options.json)
  await (await load())({ args: command.args, options, print, env: process.env, cwd: workingDirectory() })
}

/** A command that has an option of the same name means its own. */
function commonOptions({ commands, load, options = [], isNobody }: CommandRule): OptionRule[] {
  if (commands && !load) return []
  const own = options.map(({ flags }) => flags.split(/[ ,]+/).find((flag) => flag.startsWith('--')))
  return [
    { flags: '--json', text: 'JSON for programs; one value a line where there are many' },
    { flags: '--project <name>', text: 'the workspace (else RELAY_PROJECT, .relay/config.json, this directory)' },
    { flags: '--as <name>', text: 'the agent to act as (else RELAY_AGENT_NAME, your login name)', isHidden: isNobody },
  ].filter(({ flags }) => !own.includes(flags.split(' ')[0]))
}

function optionOf({ flags, text, number, choices, isList, isHidden }: OptionRule): Option {
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

/** A group without examples of its own shows one of each of its commands. */
function firstExample({ examples = [], isHidden }: CommandRule): string[] {
  return isHidden ? [] : examples.slice(0, 1)
}

function examplesText(examples: string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`
}
