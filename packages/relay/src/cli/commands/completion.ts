// `completion`: prints a script for bash, zsh or fish that completes commands, options, names and ids. It is made from the list of commands. For names and ids
// the script runs `agent-relay complete` (complete.ts).

import { type CliCommand, type CliOption, CommandError, exitCodes, type NamedCommand } from '../command.ts'
import { type CompletionKind, complete, completionKinds } from '../complete.ts'
import { allOptions } from '../options.ts'

/** A command or group, with the words and options that may follow it on the command line. */
interface CompletionPoint {
  /** The command's words, such as `daemon start`; empty for `agent-relay` alone. */
  path: string
  words: { name: string; text: string }[]
  options: { names: string[]; text: string; values?: readonly string[]; takes?: CompletionKind; takesValue: boolean }[]
  takes?: CompletionKind
}

const shells: Record<string, (places: CompletionPoint[]) => string> = { bash, zsh, fish }

/** The command `completion`. It loads every command, which is slow, so the launcher prints a script from the build instead if there is one. */
export const completionCommand = (allCommands: () => Promise<NamedCommand[]>): CliCommand => ({
  words: Object.keys(shells),
  examples: [
    'eval "$(agent-relay completion bash)"',
    'agent-relay completion zsh > ~/.zfunc/_agent-relay',
    'agent-relay completion fish > ~/.config/fish/completions/agent-relay.fish',
  ],
  actsForNoAgent: true,
  run: async ({ args, print }) => {
    const [shell] = args as [string]
    if (!shells[shell])
      throw new CommandError(`Unknown shell: ${shell}. There are: ${Object.keys(shells).join(', ')}`, exitCodes.usage)
    const script = (await completionScripts(allCommands))[shell] as string
    await (print.isJson ? print.json({ shell, script }) : print.line(script))
  },
})

/** Returns the completion scripts by shell. */
export async function completionScripts(allCommands: () => Promise<NamedCommand[]>): Promise<Record<string, string>> {
  const places = placesOf({ name: '', text: '', isGroup: true, commands: await allCommands() }, '')
  return Object.fromEntries(Object.entries(shells).map(([shell, scriptOf]) => [shell, scriptOf(places).trimEnd()]))
}

/** The command `complete`, only for its help: when it is run, the launcher handles it without loading this file. */
export const completeCommand: CliCommand = {
  words: completionKinds,
  actsForNoAgent: true,
  run: ({ args: [what, ...line], env }) => complete(what, line, env),
}

function placesOf(command: NamedCommand, path: string): CompletionPoint[] {
  const commands = (command.commands ?? []).filter(({ isHidden }) => !isHidden)
  const words = [...commands, ...(command.words ?? []).map((name) => ({ name, text: '' }))]
  const options = [...allOptions(command).filter(({ isHidden }) => !isHidden), help]
  const place = {
    path,
    words: words.map(({ name, text }) => ({ name, text })),
    options: options.map(optionOf),
    takes: command.argumentKind,
  }
  const namesOf = ({ name, alias }: NamedCommand) => (alias === undefined ? [name] : [name, alias])
  return [place, ...commands.flatMap((sub) => namesOf(sub).flatMap((name) => placesOf(sub, `${path} ${name}`.trim())))]
}

const help: CliOption = { flags: '-h, --help', text: 'show this help' }

function optionOf({ flags, text, choices, words }: CliOption): CompletionPoint['options'][number] {
  const names = flags.split(/[ ,]+/).filter((part) => part.startsWith('-'))
  const takesValue = /[<[]/.test(flags)
  const takes = takesValue ? valuesOf[longOf(flags)] : undefined
  return { names, text, values: choices ?? words, takes, takesValue }
}

/** What the value of an option names, by the option's name: the same in every command. */
const valuesOf: Record<string, CompletionKind> = {
  '--as': 'agents',
  '--from': 'agents',
  '--agent': 'agents',
  '--project': 'projects',
  '--channel': 'channels',
}

function longOf(flags: string): string {
  return flags.split(/[ ,]+/).find((part) => part.startsWith('--')) ?? ''
}

/**
 * Returns shell code that asks for names and ids by running the program of the command line. `words`: shell code for the words of that line, which may name a
 * workspace.
 */
function askingCode(what: CompletionKind, words: string): string {
  return `$("\${command}" complete ${what} ${words} 2>/dev/null)`
}

/** Returns a `case` pattern that matches every command. */
function knownPattern(places: CompletionPoint[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|')
}

function caseArms(places: CompletionPoint[], body: (place: CompletionPoint) => string): string {
  return places.map((place) => `    '${place.path}') ${body(place)} ;;`).join('\n')
}

/** Returns the `case` arms that complete the value of an option. Options with the same values share an arm. */
function valueArms(places: CompletionPoint[], line: string): string {
  const patterns = new Map<string, string[]>()
  for (const { path, options } of places) {
    for (const { names, values = [], takes, takesValue } of options) {
      if (!takesValue) continue
      const words = takes ? askingCode(takes, line) : values.join(' ')
      patterns.set(words, [...(patterns.get(words) ?? []), ...names.map((name) => `'${path} ${name}'`)])
    }
  }
  return [...patterns].map(([words, all]) => `    ${all.join('|')}) words="${words}"; isValue=1 ;;`).join('\n')
}

/** Returns the code that the bash and zsh scripts share. `line`: shell code for the words of the command line. */
function finder(places: CompletionPoint[], line: string): string {
  const wordsOf = ({ words, options, takes }: CompletionPoint) => {
    const all = [...words.map(({ name }) => name), ...options.flatMap(({ names }) => names)].join(' ')
    return `words="${takes ? `${askingCode(takes, line)} ` : ''}${all}"`
  }
  return `  local at='' word words='' isValue=''
  for word in ${line}; do
    case "\${at:+$at }$word" in
      ${knownPattern(places)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $previous" in
${valueArms(places, line)}
  esac
  [ -n "$isValue" ] || case "$at" in
${caseArms(places, wordsOf)}
  esac`
}

function bash(places: CompletionPoint[]): string {
  return `# Completion of agent-relay for bash. To load it: eval "$(agent-relay completion bash)"
_agent_relay() {
  local command="\${COMP_WORDS[0]}" current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
${finder(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _agent_relay agent-relay
`
}

function zsh(places: CompletionPoint[]): string {
  return `#compdef agent-relay
# Completion of agent-relay for zsh. Put it into a directory of $fpath as _agent-relay.
_agent_relay() {
  local command="\${words[1]}" previous="\${words[CURRENT-1]}"
  local -a line=("\${(@)words[2,CURRENT-1]}")
${finder(places, `"\${line[@]}"`).replaceAll('words', 'found')}
  compadd -- \${=found}
}
compdef _agent_relay agent-relay
`
}

function fish(places: CompletionPoint[]): string {
  const asked = (what: CompletionKind) => `(__agent_relay_ask ${what})`
  const lines = places.flatMap(({ path, words, options, takes }) => {
    const condition = `__agent_relay_at '${path}'`
    const line = (rest: string) => `complete -c agent-relay -f -n "${condition}" ${rest}`
    const said = (text: string) => `-d '${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    return [
      ...words.map(({ name, text }) => line(`-a ${name} ${said(text)}`)),
      ...options.map(({ names, text, values, takes, takesValue }) => {
        const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
        const value = takes
          ? `-x -a '${asked(takes)}'`
          : values
            ? `-x -a '${values.join(' ')}'`
            : takesValue
              ? '-x'
              : ''
        return line(`${flags.join(' ')} ${value} ${said(text)}`.replace(/ {2,}/g, ' '))
      }),
      ...(takes ? [line(`-a '${asked(takes)}'`)] : []),
    ]
  })
  return `# Completion of agent-relay for fish. Put it into ~/.config/fish/completions/agent-relay.fish
function __agent_relay_ask
  set -l line (commandline -opc)
  $line[1] complete $argv[1] $line[2..] 2>/dev/null
end
function __agent_relay_at
  set -l at
  for word in (commandline -opc)[2..]
    contains -- "$at $word" ${places
      .filter(({ path }) => path !== '')
      .map(({ path }) => `' ${path}'`)
      .join(' ')}; and set at "$at $word"
  end
  set -l want $argv[1]
  test -n "$want"; and set want " $want"
  test "$at" = "$want"
end
${lines.join('\n')}
`
}
