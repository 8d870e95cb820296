// `machine revoke`: removes a machine from the cluster at once; other machines may use the names of its agents then.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { type RevokeResult, revokeMachine } from '../../../cluster/postgres/machines.ts'
import { type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { yesOptions } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import { countedText } from '../../text.ts'
import { adminAddress, requireMembership, withAdmin } from './server.ts'

export const revoke: NamedCommand<typeof yesOptions> = {
  name: 'revoke',
  args: '<name> [url]',
  text: 'remove a machine from the cluster: its connections end at once, and the names of its agents are free',
  options: yesOptions,
  examples: ['agent-relay machine revoke ci-box', 'agent-relay machine revoke ci-box --yes'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof yesOptions>): Promise<void> {
  const { args, options, env, print } = context
  const name = args[0] as string
  await requirePerson(env)
  if (requireMembership(dataDir(env)).machine === name)
    throw new CommandError(
      `${name} is this machine, which would lock itself out. Do it on another one: agent-relay machine revoke ${name}`,
      exitCodes.refused,
    )
  const server = adminAddress(context, 'machine revoke')
  if (!options.yes)
    await confirm(
      `Remove ${name} from the cluster? Its connections end at once, and the names of its agents become free.`,
      `The connections of ${name} would end at once, and there is no terminal to ask on. To do it: agent-relay machine revoke ${name} --yes`,
    )
  const revoked = await withAdmin(context, server, (client) => revokeMachine(client, name))
  const refused = refusals[revoked.kind]?.(name)
  if (refused !== undefined) throw new CommandError(refused, exitCodes.refused)
  if (print.isJson) return void (await print.json({ machine: name, ...revokedFields(revoked) }))
  if (revoked.kind !== 'ok')
    return void (await print.line(`${name} had not joined yet. Its invitation is no longer valid.`))
  await print.line(
    `${name} is removed. It cannot log in any more, and ${countedText(revoked.ended, 'connection')} of it ended.`,
  )
  print.say(
    'The names of its agents are free: an agent that uses one of them on another machine belongs to that machine.',
  )
  print.say(
    'It keeps the copies that it has, and the keys that it knows. A new key for each of its workspaces: agent-relay workspace key NAME --rotate',
  )
}

const refusals: Partial<Record<RevokeResult['kind'], (name: string) => string>> = {
  unknown: (name) => `There is no machine ${name}. See: agent-relay machine list`,
  last: (name) =>
    `${name} is the last machine of the cluster: nobody could use its workspaces. Invite another one first.`,
}

function revokedFields(revoked: RevokeResult): object {
  return revoked.kind === 'ok' ? { ended: revoked.ended } : { withdrawn: true }
}
