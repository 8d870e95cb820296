// `workspace key`: prints a workspace's key from the credentials file. With `--rotate` the daemon makes a new key; `--keep` stores a key that was made on
// another machine.

import { realpathSync } from 'node:fs'
import { credentialsPath, dataDir } from '@agent-relay/sdk/internal/discover'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { missingKeyFix, withDaemon, workspaceOfCommand } from '../../connection.ts'
import { findListedWorkspace, nextCommandId, tryWithControl, withControl } from '../../control-socket.ts'
import { requirePerson } from '../../person.ts'
import { readSecret } from '../../secret.ts'
import { withTilde } from '../../text.ts'

const keyOptions = {
  rotate: { flags: '--rotate', text: 'make a new key: the old one stops working, and its connections end' },
  keep: {
    flags: '--keep',
    text: 'keep the key of a shared workspace on this machine too: it is asked for, or read from stdin',
  },
} satisfies CliOptions

export const key: NamedCommand<typeof keyOptions> = {
  name: 'key',
  args: '[name]',
  argumentKind: 'projects',
  text: 'print the key of a workspace, by default the one of this directory',
  options: keyOptions,
  examples: [
    'agent-relay workspace key',
    'agent-relay workspace key frontend --rotate',
    'agent-relay workspace key frontend --keep',
  ],
  actsForNoAgent: true,
  run,
}

/** Prints the key, and nothing else, on stdout. */
async function run(context: CommandContext<typeof keyOptions>): Promise<void> {
  const { args, options, print } = context
  const named = { cwd: context.cwd, options: { project: args[0] ?? options.project } }
  const workspace = workspaceOfCommand(named, context.env)
  // A person's script may run this too, since it could read the credentials file itself. Agents may not.
  await requirePerson(context.env, { script: true })
  if (options.keep) return keep(context, workspace)
  const key = options.rotate ? await rotate(context, workspace) : await stored(context, workspace)
  if (print.isJson) await print.json({ workspace, key })
  else await print.line(key)
}

async function rotate({ env, print }: CommandContext, workspace: string): Promise<string> {
  return withDaemon({ env, print }, async (link) => {
    const { key } = await link.call('workspace.rotate-key', { workspace }, nextCommandId('c'))
    print.say(`This is the new key of workspace ${workspace}, kept for you in the credentials file.`)
    print.say('The old key no longer works, and every connection that used it has ended.')
    return key
  })
}

/** Stores a key that was made on another machine. The daemon checks it by the key's hash, and tells which workspace it opens. */
async function keep({ env, print }: CommandContext, workspace: string): Promise<void> {
  const key = await readSecret(
    `The key of workspace ${workspace}, as \`agent-relay workspace key\` prints it elsewhere`,
    'A key',
  )
  await withControl(env, async (link) => {
    const found = await link.call('workspace.find', { key }, nextCommandId('c'))
    if (found.name !== workspace)
      throw new CommandError(`This is the key of another workspace: ${found.name}`, exitCodes.refused)
    const directory = realpathSync(dataDir(env))
    new CredentialsFile(credentialsPath(env)).put(found.id as string, { name: workspace, key, dataDir: directory })
    if (print.isJson) return void (await print.json({ workspace, kept: true }))
    await print.line(`The key of workspace ${workspace} is kept on this machine too.`)
  })
}

/**
 * Returns the key from the credentials file, by the workspace's id if a daemon runs and knows it. Otherwise by its name, which workspaces of two data
 * directories may share.
 */
async function stored({ env }: CommandContext, workspace: string): Promise<string> {
  const path = credentialsPath(env)
  const file = new CredentialsFile(path)
  const { id } = (await tryWithControl(env, (link) => findListedWorkspace(link, workspace))) ?? {}
  const named = file.keysNamed(workspace)
  const key = (id === undefined ? undefined : file.keyOf(id)) ?? (named.length === 1 ? named[0] : undefined)
  if (key !== undefined) return key
  const where = withTilde(path, env.HOME)
  const lack =
    named.length > 1 ? `${where} has several keys of workspaces named` : `There is no key in ${where} for workspace`
  const fix =
    (named.length === 0 && missingKeyFix(workspace, env)) ||
    ` To make a new one: agent-relay workspace key ${workspace} --rotate`
  throw new CommandError(`${lack} ${workspace}.${fix}`, exitCodes.refused)
}
