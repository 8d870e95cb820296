// `workspace backup`: copies workspaces into one file, whether or not a daemon runs. restore.ts brings them back.

import { resolve } from 'node:path'
import { inWords } from '@agent-relay/sdk/internal/clis'
import { credentialsPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import { CommandError, type Context, exits, type NamedCommand } from '../../command.ts'
import { sayVersion } from '../../connection.ts'
import { nextId, reachControl } from '../../control-socket.ts'
import type { Print } from '../../print.ts'
import { withTilde } from '../../text.ts'
import { isMemory } from '../daemon/starting.ts'

interface BackupOptions {
  withKeys?: boolean
}

export const backup: NamedCommand<BackupOptions> = {
  name: 'backup',
  args: '<file> [names...]',
  text: 'copy all workspaces, or those that are named, into a new file while they are in use',
  options: {
    withKeys: { flags: '--with-keys', text: 'put their keys into it too: who has the file can then use them' },
  },
  examples: ['agent-relay workspace backup ~/relay.tar', 'agent-relay workspace backup app.tar app --with-keys'],
  actsForNoAgent: true,
  run: runBackup,
}

async function runBackup({ args, options, env, print }: Context<BackupOptions>): Promise<void> {
  const [file = '', ...wanted] = args
  mustBeOnDisk(env)
  const link = await reachControl(env)
  try {
    if (link) sayVersion(print, link.welcome.version)
    const directory = new DataDirectory(dataDir(env))
    const names = chosen(directory.workspaces(), wanted, 'There is no workspace')
    if (names.length === 0) throw new CommandError('There is no workspace to back up.', exits.refused)
    const path = resolve(file)
    const { copyDatabase, makeBackup } = await import('../../../daemon/backup.ts')
    const { KnownWorkspaces } = await import('../../../daemon/known-workspaces.ts')
    const keys = new CredentialsFile(credentialsPath(env))
    const known = new KnownWorkspaces(keys, directory)
    const copy = async (workspace: string, to: string): Promise<void> => {
      print.progress(`copying ${workspace}`)
      if (link) return void (await link.call('workspace.copy', { workspace, to }, nextId('c')))
      const fault = known.faultOf(workspace)
      if (fault) throw fault
      copyDatabase(directory.database(workspace), to)
    }
    const keyOf = options.withKeys ? (id: string) => keys.keyOf(id) : undefined
    const kept = await makeBackup({ path, names, copy, keyOf }).finally(() => print.progress())
    const workspaces = kept.map(({ key, ...rest }) => ({ ...rest, withKey: key !== undefined }))
    if (print.isJson) return void (await print.json({ path, workspaces }))
    await sayKept(print, workspaces)
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

/** The wanted names, or all of them if none is wanted; `lack` begins the refusal of an unknown name. */
export function chosen(all: string[], wanted: string[], lack: string): string[] {
  const unknown = wanted.find((name) => !all.includes(name))
  if (unknown !== undefined) throw new CommandError(`${lack} "${unknown}". There is ${inWords(all)}.`, exits.refused)
  return wanted.length === 0 ? all.toSorted() : [...new Set(wanted)]
}

export function mustBeOnDisk(env: Env): void {
  if (isMemory(env)) throw new CommandError('A relay in memory has no files, so there is no backup of it.', exits.usage)
}

interface Told {
  name: string
  messages: number
  bytes: number
  withKey: boolean
}

export function sayKept(print: Print, workspaces: Told[]): Promise<boolean> {
  return print.table(
    [{ head: 'NAME' }, { head: 'MESSAGES', toTheRight: true }, { head: 'SIZE', toTheRight: true }, { head: 'KEY' }],
    workspaces.map(({ name, messages, bytes, withKey }) => [
      ...[name, String(messages), sizeText(bytes)],
      withKey ? 'in it' : 'not in it',
    ]),
  )
}
