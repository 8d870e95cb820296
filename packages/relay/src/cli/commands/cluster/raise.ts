// `cluster raise`: gives a shared workspace the newest format, in which each machine's right to write every entry is checked, and an owner machine. The
// database's administrator runs it, also to change the owner machine.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { giveWorkspace } from '../../../cluster/postgres/machines.ts'
import { migrate } from '../../../cluster/postgres/schema.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { yesOption } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import { adminAddress, requireMembership, warnOfOutdatedRoles, withAdmin } from './server.ts'

const raiseOptions = {
  owner: { flags: '--owner <machine>', text: 'the machine that owns it from now on (else this one)' },
  yes: yesOption,
} satisfies CliOptions

export const raise: NamedCommand<typeof raiseOptions> = {
  name: 'raise',
  args: '<workspace> [url]',
  argumentKind: 'projects',
  text: 'give a shared workspace the newest format and an owner machine; daemons of older versions stop following it until they are updated',
  options: raiseOptions,
  examples: ['agent-relay cluster raise team', 'agent-relay cluster raise team --owner ci-box --yes'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof raiseOptions>): Promise<void> {
  const { args, options, env, print } = context
  const workspace = args[0] as string
  await requirePerson(env)
  const owner = options.owner ?? requireMembership(dataDir(env)).machine
  const server = adminAddress(context, 'cluster raise')
  if (!options.yes)
    await confirm(
      `Raise ${workspace}, with ${owner} as its owner? Machines with an older Agent Relay stop following it until they are updated.`,
      `Daemons of older versions would stop following ${workspace}, and there is no terminal to ask on. To do it: agent-relay cluster raise ${workspace} --owner ${owner} --yes`,
    )
  const before = await withAdmin(context, server, async (client) => {
    // The tables are migrated first: the migration adds the SQL functions of the newest format.
    warnOfOutdatedRoles(context, await migrate(client))
    return giveWorkspace(client, workspace, owner)
  })
  if (before === undefined)
    throw new CommandError(
      `The cluster has no workspace ${workspace} of a format that this version knows, or no machine ${owner}. See: agent-relay cluster status`,
      exitCodes.refused,
    )
  if (print.isJson) return void (await print.json({ workspace, owner, before }))
  await print.line(`${workspace} belongs to ${owner} now, and every machine checks each of its entries.`)
}
