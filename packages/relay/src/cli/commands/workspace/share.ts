// `workspace share` and `workspace unshare`: move a workspace into the cluster of this machine, or back from there. `workspace hand-over`: makes another
// machine of the cluster its owner.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { ClusterFile, clusterAddressText } from '../../../machine/cluster-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import type { CliOptions, CommandContext, NamedCommand } from '../../command.ts'
import { withDaemon } from '../../connection.ts'
import { findListedWorkspace, nextCommandId, withControl } from '../../control-socket.ts'
import { forceMoveOption } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import { countedText } from '../../text.ts'
import { setUpCluster } from '../cluster/init.ts'
import { hostOption, printInvitation } from '../cluster/invitation.ts'
import { findLocalPostgres } from '../cluster/own-server.ts'
import { adminAddress } from '../cluster/server.ts'

const moveOptions = { force: forceMoveOption }

const shareOptions = {
  ...moveOptions,
  invite: {
    flags: '--invite <machine>',
    text: 'also print the line with which that machine joins, opens the workspace and gets its key',
  },
  at: hostOption,
} satisfies CliOptions

export const share: NamedCommand<typeof shareOptions> = {
  name: 'share',
  args: '<name>',
  argumentKind: 'projects',
  text: 'move a workspace into the cluster, so that other machines can open it too; its entries keep their numbers',
  options: shareOptions,
  examples: [
    'agent-relay workspace share frontend --invite ci-box',
    'agent-relay workspace share frontend',
    'agent-relay workspace share frontend --invite ci-box --at laptop.local',
  ],
  actsForNoAgent: true,
  run: runShare,
}

export const unshare: NamedCommand<typeof moveOptions> = {
  name: 'unshare',
  args: '<name>',
  argumentKind: 'projects',
  text: 'stop sharing a workspace: it is on this machine alone again, and the others keep their copies, for reading',
  options: moveOptions,
  examples: ['agent-relay workspace unshare frontend'],
  actsForNoAgent: true,
  run: (context) => move(context, 'workspace.unshare'),
}

export const handOver: NamedCommand = {
  name: 'hand-over',
  args: '<name> <machine>',
  argumentKind: 'projects',
  text: 'give a shared workspace that this machine owns to another machine; from then on only that one can unshare it and set its policy',
  examples: ['agent-relay workspace hand-over frontend ci-box'],
  actsForNoAgent: true,
  run: runHandOver,
}

async function runHandOver({ args, env, print }: CommandContext): Promise<void> {
  const [workspace, machine] = args as [string, string]
  await requirePerson(env)
  await withDaemon({ env, print }, async (link) => {
    const done = await link.call('workspace.hand-over', { workspace, machine }, nextCommandId('c'))
    if (print.isJson) return void (await print.json(done))
    await print.line(`${workspace} belongs to ${machine} now.`)
  })
}

/** Shares a workspace. If this machine has no cluster, one is created in the PostgreSQL of this machine. */
async function runShare(context: CommandContext<typeof shareOptions>): Promise<void> {
  const { args, options, env, print } = context
  const workspace = args[0] as string
  await requirePerson(env)
  const file = new ClusterFile(new DataDirectory(dataDir(env)).path)
  if (!file.read()) {
    const invite = options.invite === undefined ? '' : ` --invite ${options.invite}`
    const at = options.at === undefined ? '' : ` --at ${options.at}`
    const server = await findLocalPostgres(env, `agent-relay workspace share ${workspace}${invite}${at}`)
    print.say(`Making a cluster in the PostgreSQL of this machine, at ${clusterAddressText(server)} …`)
    const { machine } = await setUpCluster(context, server)
    print.say(`This machine is ${machine} there.`)
  }
  const isShared = await isSharedAlready(env, workspace)
  if (!isShared || options.invite === undefined) await move(context, 'workspace.share')
  if (options.invite === undefined) return
  const server = adminAddress({ args: [options.invite], env }, 'machine invite')
  await printInvitation(context, server, options.invite, { workspace, at: options.at })
}

async function isSharedAlready(env: CommandContext['env'], workspace: string): Promise<boolean> {
  return withControl(env, async (link) => (await findListedWorkspace(link, workspace)).shared === true)
}

async function move(
  { args, options, env, print }: CommandContext<typeof shareOptions>,
  op: 'workspace.share' | 'workspace.unshare',
): Promise<void> {
  const workspace = args[0] as string
  await requirePerson(env)
  await withDaemon({ env, print }, async (link) => {
    const asked = link.call(op, { workspace, force: options.force }, nextCommandId('c'))
    const moved = await print.during(op === 'workspace.share' ? 'copying' : 'taking it back', asked)
    // With `--invite`, only the invitation is printed as JSON.
    if (print.isJson && options.invite === undefined) return void (await print.json(moved))
    const entries = countedText(moved.entries, 'entry')
    if (op === 'workspace.unshare')
      return void (await print.line(`Workspace ${workspace} lives on this machine alone again, with its ${entries}.`))
    const done = `Workspace ${workspace} is shared, with its ${entries}. Their numbers stay the same.`
    if (options.invite !== undefined) return print.say(done)
    await print.line(done)
    print.say(`Another machine of the cluster opens it: agent-relay workspace open ${workspace}`)
    print.say(`A new machine: agent-relay machine invite NAME --workspace ${workspace}`)
  })
}
