// `workspace backup`: copies workspaces into one file, with or without a running daemon. restore.ts restores them.

import { dirname, resolve } from 'node:path'
import { listText } from '@agent-relay/sdk/internal/clis'
import { credentialsPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { warnOfOtherVersion } from '../../connection.ts'
import { nextCommandId, tryConnectControl } from '../../control-socket.ts'
import type { Printer } from '../../print.ts'
import { withTilde } from '../../text.ts'
import { isMemoryRelay } from '../daemon/starting.ts'

const backupOptions = {
  withKeys: { flags: '--with-keys', text: 'put their keys into it too: who has the file can then use them' },
} satisfies CliOptions

export const backup: NamedCommand<typeof backupOptions> = {
  name: 'backup',
  args: '<file> [names...]',
  text: 'copy all workspaces, or those that are named, into a new file while they are in use',
  options: backupOptions,
  examples: ['agent-relay workspace backup ~/relay.tar', 'agent-relay workspace backup app.tar app --with-keys'],
  actsForNoAgent: true,
  run: runBackup,
}

async function runBackup({ args, options, env, print }: CommandContext<typeof backupOptions>): Promise<void> {
  const [file = '', ...wanted] = args
  refuseMemoryRelay(env)
  const link = await tryConnectControl(env)
  try {
    if (link) warnOfOtherVersion(print, link.welcome.version)
    const directory = new DataDirectory(dataDir(env))
    const names = chooseNames(directory.workspaces(), wanted, 'There is no workspace')
    if (names.length === 0) throw new CommandError('There is no workspace to back up.', exitCodes.refused)
    const path = resolve(file)
    const { copyDatabase, makeBackup } = await import('../../../daemon/backup.ts')
    const { KnownWorkspaces } = await import('../../../daemon/known-workspaces.ts')
    const keys = new CredentialsFile(credentialsPath(env))
    const known = new KnownWorkspaces(keys, directory)
    const copy = async (workspace: string, to: string): Promise<void> => {
      print.progress(`copying ${workspace}`)
      if (link) return void (await link.call('workspace.copy', { workspace, to }, nextCommandId('c')))
      const fault = known.faultOf(workspace)
      if (fault) throw fault
      copyDatabase(directory.databasePath(workspace), to)
    }
    const folderOf = (name: string) => dirname(directory.databasePath(name))
    const keyOf = options.withKeys ? (id: string) => keys.keyOf(id) : undefined
    const kept = await makeBackup({ path, names, copy, folderOf, keyOf }).finally(() => print.progress())
    const workspaces = kept.map(({ key, ...rest }) => ({ ...rest, withKey: key !== undefined }))
    if (print.isJson) return void (await print.json({ path, workspaces }))
    await printBackedUp(print, workspaces)
    print.say(`${withTilde(path, env.HOME)} is written, and was read back: it is whole.`)
    print.say(
      options.withKeys
        ? 'The keys are in it: whoever has the file can use these workspaces.'
        : 'Their keys are not in it: what is restored elsewhere gets a new one. To add them: --with-keys',
    )
  } finally {
    await link?.close()
  }
}

/** Returns the wanted names, or all if none are given. `lack` is the beginning of the error text about an unknown name. */
export function chooseNames(all: string[], wanted: string[], lack: string): string[] {
  const unknown = wanted.find((name) => !all.includes(name))
  if (unknown !== undefined)
    throw new CommandError(`${lack} "${unknown}". There is ${listText(all)}.`, exitCodes.refused)
  return wanted.length === 0 ? all.toSorted() : [...new Set(wanted)]
}

export function refuseMemoryRelay(env: Env): void {
  if (isMemoryRelay(env))
    throw new CommandError('A relay in memory has no files, so there is no backup of it.', exitCodes.usage)
}

interface BackedUp {
  name: string
  messages: number
  bytes: number
  archive?: readonly { bytes: number }[]
  withKey: boolean
}

export function printBackedUp(print: Printer, workspaces: BackedUp[]): Promise<boolean> {
  return print.table(
    [{ head: 'NAME' }, { head: 'MESSAGES', alignsRight: true }, { head: 'SIZE', alignsRight: true }, { head: 'KEY' }],
    workspaces.map(({ name, messages, bytes, archive = [], withKey }) => [
      ...[name, String(messages), sizeText(archive.reduce((sum, file) => sum + file.bytes, bytes))],
      withKey ? 'in it' : 'not in it',
    ]),
  )
}
