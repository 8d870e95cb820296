// `machine allow`: sets which operations another machine of the cluster may ask of this one. Only this machine writes the file in which this is stored.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { type RequestKind, requestKinds } from '@agent-relay/sdk/protocol'
import { ClusterFile, type ClusterMembership, requestsAllowedTo } from '../../../machine/cluster-file.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { requirePerson } from '../../person.ts'
import { oneLine } from '../../text.ts'
import { clusterStatus } from './machine-text.ts'
import { requireMembership } from './server.ts'

const allowOptions = {
  revoke: { flags: '--revoke', text: 'take the permission back; without WHAT, all permissions' },
} satisfies CliOptions

export const allow: NamedCommand<typeof allowOptions> = {
  name: 'allow',
  args: '[name] [what...]',
  text: 'let another machine answer approvals of this one (approve), or release, pause, resume and interrupt its workers (release); without a name, list what is allowed',
  options: allowOptions,
  examples: [
    'agent-relay machine allow',
    'agent-relay machine allow laptop approve',
    'agent-relay machine allow laptop approve release',
    'agent-relay machine allow laptop --revoke',
  ],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof allowOptions>): Promise<void> {
  const { args, options, env } = context
  const [name, ...words] = args
  const place = requireMembership(dataDir(env))
  if (name === undefined) return printAllowed(context, place)
  const kinds = words.map(kindOf)
  if (kinds.length === 0 && !options.revoke)
    throw new CommandError(`Say what ${name} may do here: ${requestKinds.join(', ')}`, exitCodes.usage)
  // An agent must not run this: it could let another machine answer its approvals.
  await requirePerson(env)
  const joinedAt = options.revoke ? (place.allows?.[name]?.joinedAt ?? '') : await joinedAtOf(place, name)
  const had = requestsAllowedTo(place, { name, joinedAt })
  const taken = kinds.length === 0 ? requestKinds : kinds
  const may = options.revoke ? had.filter((kind) => !taken.includes(kind)) : [...new Set([...had, ...kinds])]
  const { [name]: _, ...others } = place.allows ?? {}
  const allows = may.length === 0 ? others : { ...others, [name]: { joinedAt, may } }
  new ClusterFile(dataDir(env)).write({ ...place, allows })
  await printPermission(context, name, may)
}

function kindOf(word: string): RequestKind {
  const kind = requestKinds.find((each) => each === word)
  if (kind) return kind
  throw new CommandError(`"${word}" is not a permission. There are: ${requestKinds.join(', ')}`, exitCodes.usage)
}

/**
 * Returns the time at which a machine joined the cluster, which is stored with its permission: a later machine of the same name must not inherit it. Throws if
 * there is no such machine.
 */
async function joinedAtOf(place: ClusterMembership, name: string): Promise<string> {
  if (place.machine === name)
    throw new CommandError(`${name} is this machine, which needs no permission of its own.`, exitCodes.refused)
  const { machines } = await clusterStatus(place)
  const found = machines.find((each) => each.name === name && each.revokedAt === undefined)
  if (!found) throw new CommandError(`There is no machine ${name}. See: agent-relay machine list`, exitCodes.refused)
  return found.joinedAt
}

async function printPermission({ print }: CommandContext, name: string, may: RequestKind[]): Promise<void> {
  if (print.isJson) return void (await print.json({ machine: name, may }))
  await print.line(oneLine(permissionText(name, may)))
  if (may.length > 0)
    print.say(
      'Whoever is a person according to that machine counts as a person here. This applies from now on, without a restart.',
    )
}

async function printAllowed({ print }: CommandContext, place: ClusterMembership): Promise<void> {
  const { machines } = await clusterStatus(place)
  const allowed = machines
    .map((each) => ({ machine: each.name, may: each.revokedAt === undefined ? requestsAllowedTo(place, each) : [] }))
    .filter(({ may }) => may.length > 0)
    .toSorted((a, b) => (a.machine < b.machine ? -1 : 1))
  if (print.isJson) return void (await print.json({ allowed }))
  for (const { machine, may } of allowed) await print.line(oneLine(permissionText(machine, may)))
  if (allowed.length === 0) print.say('No other machine may ask anything of this one.')
}

const texts: Record<RequestKind, string> = {
  approve: 'answer approvals of this machine',
  release: 'release, pause, resume and interrupt its workers',
}

function permissionText(name: string, may: RequestKind[]): string {
  return may.length === 0
    ? `${name} may ask nothing of this machine.`
    : `${name} may ${may.map((kind) => texts[kind]).join(', and ')}.`
}
