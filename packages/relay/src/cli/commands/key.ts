// `workspace key`: the key of a workspace from the owner's file, or a new one, which the daemon makes and writes there.

import type { Link } from '@agent-relay/sdk'
import { credentialsPath } from '@agent-relay/sdk/discover'
import { CredentialsFile } from '../../credentials-file.ts'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { sayVersion } from '../context.ts'
import { choose, control, nextId, reachControl } from '../starting.ts'
import { homely } from '../text.ts'

/** The key is the data: it goes to stdout alone. */
export const run: Run = async (invocation) => {
  const { args, options, print } = invocation
  const { project: workspace } = choose(
    { ...invocation, options: { project: args[0] ?? options.project } },
    invocation.env,
  )
  const key = options.rotate ? await rotate(invocation, workspace) : await stored(invocation, workspace)
  if (print.isJson) await print.json({ workspace, key })
  else await print.line(key)
}

async function rotate({ env, print }: Invocation, workspace: string): Promise<string> {
  const link = await control(env)
  try {
    sayVersion(print, link.welcome.version)
    const { key } = await link.call('workspace.rotate-key', { workspace }, nextId('c'))
    print.say(`This is the new key of workspace ${workspace}, kept for you in the credentials file.`)
    print.say('The former one has ended, and so has everything that was connected with it.')
    return key
  } finally {
    await link.close()
  }
}

/** A daemon that runs knows the workspace's id; the file alone knows names, which two data directories may share. */
async function stored({ env }: Invocation, workspace: string): Promise<string> {
  const path = credentialsPath(env)
  const file = new CredentialsFile(path)
  const link = await reachControl(env)
  const id = link && (await idOf(link, workspace))
  await link?.close()
  const named = file.keysNamed(workspace)
  const key = (id === undefined ? undefined : file.keyOf(id)) ?? (named.length === 1 ? named[0] : undefined)
  if (key !== undefined) return key
  const where = homely(path, env.HOME)
  const lack =
    named.length > 1 ? `${where} has several keys of workspaces named` : `There is no key in ${where} for workspace`
  throw new CommandError(
    `${lack} ${workspace}. To make a new one: agent-relay workspace key ${workspace} --rotate`,
    exits.refused,
  )
}

async function idOf(link: Link, workspace: string): Promise<string | undefined> {
  const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
  return workspaces.find(({ name }) => name === workspace)?.id
}
