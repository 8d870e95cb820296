// `workspace share` and `workspace unshare`: move a workspace into the cluster of this machine, or back from there. `workspace hand-over`: gives it
// to another machine of the cluster.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { ClusterFile, placeText } from '../../../machine/cluster-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import type { Context, NamedCommand } from '../../command.ts'
import { sayVersion } from '../../connection.ts'
import { control, knownWorkspace, nextId } from '../../control-socket.ts'
import { requirePerson } from '../../person.ts'
import { counted } from '../../text.ts'
import { takePlace } from '../cluster/init.ts'
import { at, invite } from '../cluster/invitation.ts'
import { ownServer } from '../cluster/own-server.ts'
import { adminOf } from '../cluster/server.ts'

interface MoveOptions {
  force?: boolean
}

const options = {
  force: {
    flags: '--force',
    text: 'even while agents are connected: their sessions and workers end, and can come back',
  },
}

interface ShareOptions extends MoveOptions {
  invite?: string
  at?: string
}

export const share: NamedCommand<ShareOptions> = {
  name: 'share',
  args: '<name>',
  takes: 'projects',
  text: 'move a workspace into the cluster, so that other machines can open it too; no number changes',
  options: {
    ...options,
    invite: {
      flags: '--invite <machine>',
      text: 'end with the line with which that machine joins, opens it and has its key',
    },
    at,
  },
  examples: [
    'agent-relay workspace share frontend --invite ci-box',
    'agent-relay workspace share frontend',
    'agent-relay workspace share frontend --invite ci-box --at laptop.local',
  ],
  actsForNoAgent: true,
  run: runShare,
}

export const unshare: NamedCommand<MoveOptions> = {
  name: 'unshare',
  args: '<name>',
  takes: 'projects',
  text: 'take a shared workspace back: it lives on this machine alone again, and the others keep what they have',
  options,
  examples: ['agent-relay workspace unshare frontend'],
  actsForNoAgent: true,
  run: (context) => move(context, 'workspace.unshare'),
}

export const handOver: NamedCommand = {
  name: 'hand-over',
  args: '<name> <machine>',
  takes: 'projects',
  text: 'give a shared workspace that this machine owns to another machine, which alone takes it back and sets its policy from then on',
  examples: ['agent-relay workspace hand-over frontend ci-box'],
  actsForNoAgent: true,
  run: runHandOver,
}

async function runHandOver({ args, env, print }: Context): Promise<void> {
  const [workspace, machine] = args as [string, string]
  await requirePerson(env)
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const done = await link.call('workspace.hand-over', { workspace, machine }, nextId('c'))
    if (print.isJson) return void (await print.json(done))
    await print.line(`${workspace} belongs to ${machine} now.`)
  } finally {
    await link.close()
  }
}

/** Shares a workspace. Without a cluster, one is made on the PostgreSQL of this machine. */
async function runShare(context: Context<ShareOptions>): Promise<void> {
  const { args, options, env, print } = context
  const workspace = args[0] as string
  await requirePerson(env)
  const file = new ClusterFile(new DataDirectory(dataDir(env)).path)
  if (!file.read()) {
    const invite = options.invite === undefined ? '' : ` --invite ${options.invite}`
    const at = options.at === undefined ? '' : ` --at ${options.at}`
    const server = await ownServer(env, `agent-relay workspace share ${workspace}${invite}${at}`)
    print.say(`Making a cluster in the PostgreSQL of this machine, at ${placeText(server)} …`)
    const { machine } = await takePlace(context, server)
    print.say(`This machine is ${machine} there.`)
  }
  const isShared = await isSharedAlready(env, workspace)
  if (!isShared || options.invite === undefined) await move(context, 'workspace.share')
  if (options.invite === undefined) return
  const server = adminOf({ args: [options.invite], env }, 'machine invite')
  await invite(context, server, options.invite, { workspace, at: options.at })
}

async function isSharedAlready(env: Context['env'], workspace: string): Promise<boolean> {
  const link = await control(env)
  try {
    return (await knownWorkspace(link, workspace)).shared === true
  } finally {
    await link.close()
  }
}

async function move(
  { args, options, env, print }: Context<ShareOptions>,
  op: 'workspace.share' | 'workspace.unshare',
): Promise<void> {
  const workspace = args[0] as string
  await requirePerson(env)
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const asked = link.call(op, { workspace, force: options.force }, nextId('c'))
    const moved = await print.during(op === 'workspace.share' ? 'copying' : 'taking it back', asked)
    // With `--invite`, the invitation is all that is printed as JSON.
    if (print.isJson && options.invite === undefined) return void (await print.json(moved))
    const entries = counted(moved.entries, 'entry').replace('entrys', 'entries')
    if (op === 'workspace.unshare')
      return void (await print.line(`Workspace ${workspace} lives on this machine alone again, with its ${entries}.`))
    const done = `Workspace ${workspace} is shared, with its ${entries}. No number has changed.`
    if (options.invite !== undefined) return print.say(done)
    await print.line(done)
    print.say(`Another machine of the cluster opens it: agent-relay workspace open ${workspace}`)
    print.say(`A new machine: agent-relay machine invite NAME --workspace ${workspace}`)
  } finally {
    await link.close()
  }
}
