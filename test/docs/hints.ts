// The commands that texts tell a person to type, and what is wrong with one, by the table of commands. No tests.

import type { CliOption, NamedCommand } from '../../packages/relay/src/cli/command.ts'
import { allOptions } from '../../packages/relay/src/cli/options.ts'
import { ownCommand } from '../../packages/sdk/src/internal/own-command.ts'

/** Stands for a value that a text has only when it is shown. */
const filledIn = 'VALUE'

/** Our name, also as it stands in pages for people who read them in a checkout. */
const named = new RegExp(`${ownCommand.source}|(?<=\\./)agent-relay(?= [a-z[-])`, 'g')

/** The command lines in a text, without our name. */
export function hintsIn(text: string): string[] {
  return [...text.matchAll(named)].map(({ index, 0: name }) => commandLine(text.slice(index + name.length)))
}

/** The words up to the end of the command, or of the sentence that it ends. */
function commandLine(rest: string): string {
  const words: string[] = []
  for (const [, word = ''] of rest.matchAll(/ ("[^"\n]*"|'[^'\n]*'|[^\s"'`()·;&|>]+)/gy)) {
    const bare = word.replace(/[.,:?!]+$/, '')
    words.push(bare)
    if (bare !== word) break
  }
  return words.join(' ')
}

/** The texts of a source file: without comments, and with its values filled in. */
export function textsOf(source: string): string {
  let text = source
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
    .join('\n')
    // A text that goes on in the next line.
    .replace(/['`] \+\s*\n\s*['`]/g, '')
    .replaceAll('\\n', '\n')
    .replace(/\\(['"`])/g, '$1')
  for (let before = ''; before !== text; ) {
    before = text
    text = text.replace(/\$\{[^{}]*\}/g, filledIn)
  }
  return text
}

/** What is wrong with a command line; undefined if it can be typed. */
export function hintFault(line: string, commands: readonly NamedCommand[]): string | undefined {
  const words: string[] = line.match(/(?:"[^"]*"|[^\s"])+/g) ?? []
  if (words[0]?.startsWith('[') || words[0] === '--help' || words[0] === '--version') return undefined
  const isHelp = words[0] === 'help'
  if (isHelp && words[1] === 'all') return undefined
  return nestedFault(isHelp ? words.slice(1) : words, { commands, options: [], isHelp })
}

interface Place {
  commands: readonly NamedCommand[]
  /** The options of the commands around these, which these take too. */
  options: readonly CliOption[]
  /** Only a name is wanted, not its arguments. */
  isHelp: boolean
}

function nestedFault([first = '', ...rest]: readonly string[], place: Place): string | undefined {
  const command = place.commands.find(({ name, alias }) => name === first || alias === first)
  const isOpen = first === '' || first.includes(filledIn) || first === '--help'
  if (!command) return isOpen ? undefined : `there is no command ${first}`
  const { commands = [], isGroup } = command
  const options = [...place.options, ...allOptions(command)]
  const isInside = isGroup || commands.some(({ name, alias }) => name === rest[0] || alias === rest[0])
  const inside = isInside ? nestedFault(rest, { ...place, commands, options }) : undefined
  const standard = commands.find(({ isDefault }) => isDefault)
  if (isInside && !(inside && standard && rest[0]?.startsWith('-'))) return inside
  return place.isHelp ? undefined : argumentFault(standard ?? command, rest, options)
}

function argumentFault(
  command: NamedCommand,
  words: readonly string[],
  inherited: readonly CliOption[],
): string | undefined {
  const options = [...inherited, ...allOptions(command)].map(({ flags }) => ({
    names: flags.split(/[ ,]+/),
    takesValue: /[<[]/.test(flags),
  }))
  const end = words.indexOf('--')
  const given = end < 0 ? [] : words.slice(end + 1)
  for (let at = 0; at < (end < 0 ? words.length : end); at++) {
    const [name = ''] = (words[at] as string).replace(/^\[|\]$/g, '').split('=')
    const isOption = /^--?[a-z]/.test(name) && name !== '--help'
    const option = options.find(({ names }) => names.includes(name.replace(filledIn, '')))
    if (isOption && !option) return `${command.name} has no option ${name}`
    if (!isOption) given.push(name)
    else if (option?.takesValue && !words[at]?.includes('=') && ++at === words.length) return `${name} takes a value`
  }
  const needed = command.args?.match(/</g)?.length ?? 0
  return given.length < needed ? `${command.name} needs ${command.args}` : undefined
}
