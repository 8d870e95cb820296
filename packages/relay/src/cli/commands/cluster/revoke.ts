// `machine revoke`: removes a machine from the cluster at once, and frees the names of its agents.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { type Revoked, revokeMachine } from '../../../cluster/postgres/machines.ts'
import { CommandError, type Context, exits, type NamedCommand } from '../../command.ts'
import { yes } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import { counted } from '../../text.ts'
import { adminOf, asAdmin, membership } from './server.ts'

interface RevokeOptions {
  yes?: boolean
}

export const revoke: NamedCommand<RevokeOptions> = {
  name: 'revoke',
  args: '<name> [url]',
  text: 'remove a machine from the cluster: its connections end at once, and the names of its agents are free',
  options: { yes },
  examples: ['agent-relay machine revoke ci-box', 'agent-relay machine revoke ci-box --yes'],
  actsForNoAgent: true,
  run,
}

async function run(context: Context<RevokeOptions>): Promise<void> {
  const { args, options, env, print } = context
  const name = args[0] as string
  await requirePerson(env)
  if (membership(dataDir(env)).machine === name)
    throw new CommandError(
      `${name} is this machine, which would lock itself out. Do it on another one: agent-relay machine revoke ${name}`,
      exits.refused,
    )
  const server = adminOf(context, 'machine revoke')
  if (!options.yes) await confirm(name)
  const revoked = await asAdmin(context, server, (client) => revokeMachine(client, name))
  const refused = refusals[revoked.kind]?.(name)
  if (refused !== undefined) throw new CommandError(refused, exits.refused)
  if (print.isJson) return void (await print.json({ machine: name, ...told(revoked) }))
  if (revoked.kind !== 'ok')
    return void (await print.line(`${name} had not joined yet. Its invitation is worth nothing any more.`))
  await print.line(
    `${name} is removed. It cannot log in any more, and ${counted(revoked.ended, 'connection')} of it ended.`,
  )
  print.say('The names of its agents are free: who comes with one of them to another machine is at home there.')
  print.say(
    'It keeps the copies that it has, and the keys that it knows. A new key for each of its workspaces: agent-relay workspace key NAME --rotate',
  )
}

const refusals: Partial<Record<Revoked['kind'], (name: string) => string>> = {
  unknown: (name) => `There is no machine ${name}. See: agent-relay machine list`,
  last: (name) =>
    `${name} is the last machine of the cluster: nobody could use its workspaces. Let another one in first.`,
}

function told(revoked: Revoked): object {
  return revoked.kind === 'ok' ? { ended: revoked.ended } : { withdrawn: true }
}

async function confirm(name: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CommandError(
      `${name} would be thrown out at once, and nobody can be asked here. To do it: agent-relay machine revoke ${name} --yes`,
      exits.usage,
    )
  const prompts = await import('@clack/prompts')
  const message = `Remove ${name} from the cluster? It is thrown out at once, and the names of its agents become free.`
  if ((await prompts.confirm({ message, initialValue: false })) !== true)
    throw new CommandError('Cancelled. Nothing was changed.', exits.refused)
}
