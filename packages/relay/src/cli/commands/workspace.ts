// `workspace create`, `list` and `remove`: the worlds of this data directory. All of them ask the daemon on its own socket.

import { CommandError, exits, type Run } from '../command.ts'
import { sayVersion } from '../context.ts'
import { control, nextId } from '../starting.ts'
import { homely } from '../text.ts'

/** The key is the data: it goes to stdout alone, this once. */
export const create: Run = async ({ args, env, print }) => {
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const made = await link.call('workspace.create', { workspace: args[0] as string }, nextId('c'))
    if (print.isJson) return void (await print.json(made))
    await print.line(made.key)
    print.say(`This is the key of workspace ${made.name}. It is shown once, and kept for you in the credentials file.`)
    print.say(`Use the workspace: agent-relay who --project ${made.name}, or RELAY_PROJECT=${made.name}`)
  } finally {
    await link.close()
  }
}

export const list: Run = async ({ env, print }) => {
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
    if (print.isJson) return void (await print.json({ workspaces }))
    if (workspaces.length === 0)
      return print.say('There is no workspace yet. To make one here: agent-relay daemon start')
    await print.table(
      [{ head: 'NAME' }, { head: 'STATE' }, { head: 'DATA', mayShrink: true }],
      workspaces.map(({ name, open, path }) => [name, open ? 'open' : 'not open', homely(path, env.HOME)]),
    )
  } finally {
    await link.close()
  }
}

export const remove: Run = async ({ args, options, env, print }) => {
  const workspace = args[0] as string
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    if (!options.yes) await confirmRemoval(workspace)
    const removed = await link.call('workspace.remove', { workspace, force: options.force }, nextId('c'))
    if (print.isJson) return void (await print.json(removed))
    print.say(`Workspace ${workspace} is removed, with its messages and its key.`)
  } finally {
    await link.close()
  }
}

async function confirmRemoval(workspace: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CommandError(
      `This cannot be undone, and nobody can be asked here. To do it: agent-relay workspace remove ${workspace} --yes`,
      exits.usage,
    )
  const prompts = await import('@clack/prompts')
  const message = `Remove workspace ${workspace} with all its messages? This cannot be undone.`
  if ((await prompts.confirm({ message, initialValue: false })) !== true)
    throw new CommandError('Left. Nothing was changed.', exits.refused)
}
