// `completion`: a script for bash, zsh or fish that completes commands, options and agent names, made from the catalog of commands. And
// the names themselves, for such a script: asked of the daemon, fast and without a word when there is none.

import { CommandError, exits, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import { Print } from '../print.ts'
import type { CommandRule, OptionRule } from '../rule.ts'

/** A person who pressed Tab waits. */
const namesMs = 800

/** One place in the tree of commands, with the words that may come there. */
interface Place {
  /** `daemon start`; empty at the top. */
  path: string
  words: { name: string; text: string }[]
  options: { names: string[]; text: string; values?: readonly string[]; takesAgent?: boolean; takesValue: boolean }[]
  takesAgent: boolean
}

const shells: Record<string, (places: Place[]) => string> = { bash, zsh, fish }

export const completion =
  (catalog: CommandRule[]): Run =>
  async ({ args, print }) => {
    const [shell] = args as [string]
    const scriptOf = shells[shell]
    if (!scriptOf)
      throw new CommandError(`Unknown shell: ${shell}. There are: ${Object.keys(shells).join(', ')}`, exits.usage)
    const script = scriptOf(placesOf({ name: '', text: '', commands: catalog }, '')).trimEnd()
    await (print.isJson ? print.json({ shell, script }) : print.line(script))
  }

export const agentNames: Run = async (invocation) => {
  setTimeout(() => process.exit(0), namesMs).unref()
  const silent = { write: () => true } as unknown as NodeJS.WriteStream
  const print = new Print(process.stdout, silent, invocation.env)
  try {
    await withClient({ ...invocation, print }, 'anyone', async ({ client }) => {
      const { agents } = await client.call('agent.list', { includeOffline: true })
      for (const { name } of agents) await print.line(name)
    })
  } catch {
    // No daemon, no names.
  }
}

function placesOf(rule: CommandRule, path: string): Place[] {
  const commands = (rule.commands ?? []).filter(({ isHidden }) => !isHidden)
  const common: OptionRule[] = rule.commands
    ? []
    : [
        { flags: '--json', text: 'JSON for programs' },
        { flags: '--project <name>', text: 'the workspace' },
        { flags: '--as <name>', text: 'the agent to act as', isHidden: rule.isNobody },
      ]
  const own = rule.options ?? []
  const options = [...own, ...common.filter(({ flags }) => !own.some((each) => longOf(each.flags) === longOf(flags)))]
  const place = {
    path,
    words: [...commands, ...(rule.words ?? []).map((name) => ({ name, text: '' }))].map(({ name, text }) => ({
      name,
      text,
    })),
    options: [...options.filter(({ isHidden }) => !isHidden), { flags: '-h, --help', text: 'show this help' }].map(
      optionOf,
    ),
    takesAgent: rule.takesAgent === true,
  }
  return [place, ...commands.flatMap((sub) => placesOf(sub, `${path} ${sub.name}`.trim()))]
}

function optionOf({ flags, text, choices, words }: OptionRule): Place['options'][number] {
  const names = flags.split(/[ ,]+/).filter((part) => part.startsWith('-'))
  const takesAgent = ['--as', '--from'].includes(longOf(flags))
  return { names, text, values: choices ?? words, takesAgent, takesValue: /[<[]/.test(flags) }
}

function longOf(flags: string): string {
  return flags.split(/[ ,]+/).find((part) => part.startsWith('--')) ?? ''
}

const askNames = 'agent-relay agent-names 2>/dev/null'

/** `case` arms that say which words a command's own name may be followed by. */
function known(places: Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|')
}

function arms(places: Place[], body: (place: Place) => string): string {
  return places.map((place) => `    '${place.path}') ${body(place)} ;;`).join('\n')
}

/** Options of one kind of value share an arm: most of them take one that cannot be known. */
function valueArms(places: Place[]): string {
  const patterns = new Map<string, string[]>()
  for (const { path, options } of places) {
    for (const { names, values = [], takesAgent, takesValue } of options) {
      if (!takesValue) continue
      const words = takesAgent ? `$(${askNames})` : values.join(' ')
      patterns.set(words, [...(patterns.get(words) ?? []), ...names.map((name) => `'${path} ${name}'`)])
    }
  }
  return [...patterns].map(([words, all]) => `    ${all.join('|')}) words="${words}"; isValue=1 ;;`).join('\n')
}

/** bash and zsh share what finds the words; they differ in where a command line is found and where words go. */
function finder(places: Place[], line: string): string {
  const wordsOf = ({ words, options, takesAgent }: Place) => {
    const all = [...words.map(({ name }) => name), ...options.flatMap(({ names }) => names)].join(' ')
    return `words="${takesAgent ? `$(${askNames}) ` : ''}${all}"`
  }
  return `  local at='' word words='' isValue=''
  for word in ${line}; do
    case "\${at:+$at }$word" in
      ${known(places)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $previous" in
${valueArms(places)}
  esac
  [ -n "$isValue" ] || case "$at" in
${arms(places, wordsOf)}
  esac`
}

function bash(places: Place[]): string {
  return `# Completion of agent-relay for bash. To load it: eval "$(agent-relay completion bash)"
_agent_relay() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
${finder(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _agent_relay agent-relay
`
}

function zsh(places: Place[]): string {
  return `#compdef agent-relay
# Completion of agent-relay for zsh. Put it into a directory of $fpath as _agent-relay.
_agent_relay() {
  local previous="\${words[CURRENT-1]}"
  local -a line=("\${(@)words[2,CURRENT-1]}")
${finder(places, `"\${line[@]}"`).replaceAll('words', 'found')}
  compadd -- \${=found}
}
compdef _agent_relay agent-relay
`
}

function fish(places: Place[]): string {
  const lines = places.flatMap(({ path, words, options, takesAgent }) => {
    const condition = `__agent_relay_at '${path}'`
    const line = (rest: string) => `complete -c agent-relay -f -n "${condition}" ${rest}`
    const said = (text: string) => `-d '${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    return [
      ...words.map(({ name, text }) => line(`-a ${name} ${said(text)}`)),
      ...options.map(({ names, text, values, takesAgent, takesValue }) => {
        const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
        const value = takesAgent
          ? `-x -a '(${askNames})'`
          : values
            ? `-x -a '${values.join(' ')}'`
            : takesValue
              ? '-x'
              : ''
        return line(`${flags.join(' ')} ${value} ${said(text)}`.replace(/ {2,}/g, ' '))
      }),
      ...(takesAgent ? [line(`-a '(${askNames})'`)] : []),
    ]
  })
  return `# Completion of agent-relay for fish. Put it into ~/.config/fish/completions/agent-relay.fish
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
