// The options that every command takes, and those that commands of several nouns share.

import type { CliCommand, CliOption, CliOptions, CommonOptions, NamedCommand } from './command.ts'

export const limitOption = {
  flags: '--limit <n>',
  text: 'show at most this many',
  number: [1, 500],
} satisfies CliOption
export const fromOption = { flags: '--from <name>', text: 'only from this sender' } satisfies CliOption
export const channelOption = { flags: '--channel <name>', text: 'only in this channel' } satisfies CliOption
export const forceOption = {
  flags: '--force',
  text: 'even while agents are connected: their sessions and workers end',
} satisfies CliOption
export const forceMoveOption = { ...forceOption, text: `${forceOption.text}, and can come back` }
export const yesOption = { flags: '-y, --yes', text: 'ask nothing' } satisfies CliOption
/** The options of a command that only asks first. */
export const yesOptions = { yes: yesOption }

/** The number of lines that `logs` and `daemon logs` show by default. */
export const logLinesDefault = 100

const commonOptions: Record<keyof CommonOptions, CliOption> = {
  json: { flags: '--json', text: 'JSON for programs; one value a line where there are many' },
  project: {
    flags: '--project <name>',
    text: 'the workspace (else RELAY_PROJECT, .relay/config.json, this directory)',
  },
  as: { flags: '--as <name>', text: 'the agent to act as (else RELAY_AGENT_NAME, your login name)' },
}

/** Returns the command's own options, without those that every command takes. */
export function ownOptions({ options = {} }: CliCommand): CliOption[] {
  return Object.values(options)
}

/** Returns all options of a command, its own first. An option of its own replaces a common one of the same name. */
export function allOptions(command: NamedCommand): CliOption[] {
  if (command.isGroup) return []
  const { options = {}, actsForNoAgent } = command
  const common: CliOptions = { ...commonOptions, as: { ...commonOptions.as, isHidden: actsForNoAgent } }
  return [
    ...ownOptions(command),
    ...Object.entries(common).flatMap(([name, option]) => (name in options ? [] : [option])),
  ]
}
