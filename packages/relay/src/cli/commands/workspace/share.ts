// `workspace share` and `workspace unshare`: a workspace moves into the cluster of this machine, or comes back from there. `workspace hand-over`: it
// belongs to another machine of the cluster.

import type { Context, NamedCommand } from '../../command.ts'
import { sayVersion } from '../../connection.ts'
import { control, nextId } from '../../control-socket.ts'
import { provePerson } from '../../person.ts'
import { counted } from '../../text.ts'

interface MoveOptions {
  force?: boolean
}

const options = {
  force: {
    flags: '--force',
    text: 'even while agents are connected: their sessions and workers end, and can come back',
  },
}

export const share: NamedCommand<MoveOptions> = {
  name: 'share',
  args: '<name>',
  takes: 'projects',
  text: 'move a workspace into the cluster, so that other machines can open it too; no number changes',
  options,
  examples: ['agent-relay workspace share frontend'],
  isNobody: true,
  run: (context) => move(context, 'workspace.share'),
}

export const unshare: NamedCommand<MoveOptions> = {
  name: 'unshare',
  args: '<name>',
  takes: 'projects',
  text: 'take a shared workspace back: it lives on this machine alone again, and the others keep what they have',
  options,
  examples: ['agent-relay workspace unshare frontend'],
  isNobody: true,
  run: (context) => move(context, 'workspace.unshare'),
}

export const handOver: NamedCommand = {
  name: 'hand-over',
  args: '<name> <machine>',
  takes: 'projects',
  text: 'give a shared workspace that this machine owns to another machine, which alone takes it back and sets its policy from then on',
  examples: ['agent-relay workspace hand-over frontend ci-box'],
  isNobody: true,
  run: runHandOver,
}

async function runHandOver({ args, env, print }: Context): Promise<void> {
  const [workspace, machine] = args as [string, string]
  await provePerson(env)
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

async function move(
  { args, options, env, print }: Context<MoveOptions>,
  op: 'workspace.share' | 'workspace.unshare',
): Promise<void> {
  const workspace = args[0] as string
  await provePerson(env)
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const asked = link.call(op, { workspace, force: options.force }, nextId('c'))
    const moved = await print.during(op === 'workspace.share' ? 'copying' : 'taking it back', asked)
    if (print.isJson) return void (await print.json(moved))
    const entries = counted(moved.entries, 'entry').replace('entrys', 'entries')
    if (op === 'workspace.unshare')
      return void (await print.line(`Workspace ${workspace} lives on this machine alone again, with its ${entries}.`))
    await print.line(`Workspace ${workspace} is shared, with its ${entries}. No number has changed.`)
    print.say(`Another machine of the cluster opens it: agent-relay workspace open ${workspace}`)
    print.say('A new machine: agent-relay machine invite NAME')
  } finally {
    await link.close()
  }
}
