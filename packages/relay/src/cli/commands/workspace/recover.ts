// `workspace recover`: shows which stored entries a workspace has lost, and if a person agrees, lets it go on with those that are left.

import { credentialsPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { Link } from '@agent-relay/sdk/wire'
import { nearestNames } from '../../../core/nearest.ts'
import { RefusalError } from '../../../core/refusal-error.ts'
import type { JournalGap } from '../../../daemon/recovering.ts'
import { configuredProject } from '../../../machine/config.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import type { CommandContext, NamedCommand } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { nextCommandId, tryWithControl } from '../../control-socket.ts'
import { yesOptions } from '../../options.ts'
import { requirePerson } from '../../person.ts'
import { countedText, dateTimeText, withTilde } from '../../text.ts'
import { refuseMemoryRelay } from './backup.ts'

export const recover: NamedCommand<typeof yesOptions> = {
  name: 'recover',
  args: '<name>',
  argumentKind: 'projects',
  text: 'continue a workspace whose database has lost entries: says which are gone, and keeps a copy of the files',
  options: yesOptions,
  examples: ['agent-relay workspace recover frontend', 'agent-relay workspace recover frontend --yes'],
  actsForNoAgent: true,
  run,
}

async function run({ args, options, env, print }: CommandContext<typeof yesOptions>): Promise<void> {
  refuseMemoryRelay(env)
  const workspace = configuredProject('/', env, args[0])
  await requirePerson(env)
  const directory = new DataDirectory(dataDir(env))
  const gap = await gapOf(workspace, directory, env)
  if (!gap) {
    if (print.isJson) return void (await print.json({ workspace, gone: null }))
    return void (await print.line(`Workspace ${workspace} has all that was stored in it. Nothing was changed.`))
  }
  print.say(`Workspace ${workspace}: ${goneText(gap)}`)
  if (!options.yes)
    await confirm(
      'Continue without what is gone? A copy of the files as they are is kept.',
      `There is no terminal to ask on whether to continue without what is gone. To do it: agent-relay workspace recover ${workspace} --yes`,
    )
  const { recoverDatabase } = await import('../../../daemon/recovering.ts')
  const kept = recoverDatabase(directory, workspace)
  const isOpen = await openInDaemon(workspace, env)
  const { expected, found, isLocal } = gap
  const told = ({ seq, at }: { seq: number; at: number }) => ({ seq, ts: new Date(at).toISOString() })
  const gone = { after: told(found), through: told(expected), isLocal }
  if (print.isJson) return void (await print.json({ workspace, gone, kept, open: isOpen }))
  print.say(`The files as they were are kept: ${withTilde(kept, env.HOME)}`)
  const goesOn = found.seq === 0 ? 'begins again, with nothing in it' : `goes on after entry ${found.seq}`
  const open = isOpen ? '' : ` To open it: agent-relay daemon start --project ${workspace}`
  await print.line(`Workspace ${workspace} ${goesOn}.${open}`)
}

/** Returns which entries the workspace lacks; undefined if none. Throws if recovering cannot help: the database is missing, damaged, or another workspace's. */
async function gapOf(workspace: string, directory: DataDirectory, env: Env): Promise<JournalGap | undefined> {
  const { KnownWorkspaces } = await import('../../../daemon/known-workspaces.ts')
  const known = new KnownWorkspaces(new CredentialsFile(credentialsPath(env)), directory)
  if (!known.has(workspace))
    throw new RefusalError('workspace.unknown', { workspace, nearest: nearestNames(workspace, known.names()) })
  const fault = known.faultOf(workspace)
  if (fault && fault.refusal.details.lack === undefined) throw fault
  return fault?.refusal.details.lack as JournalGap | undefined
}

function goneText({ isLocal, expected, found }: JournalGap): string {
  const until = dateTimeText(expected.at)
  if (isLocal) return `what this machine has decided by itself is gone from ${dateTimeText(found.at)} to ${until}.`
  if (found.seq >= expected.seq)
    return `entry ${expected.seq}, stored ${until}, is gone, and another has its number: this is another copy of the database.`
  const gone = countedText(expected.seq - found.seq, 'entry')
  const since = found.seq === 0 ? `stored until ${until}` : `stored between ${dateTimeText(found.at)} and ${until}`
  return `${gone} after number ${found.seq}, ${since}, ${expected.seq - found.seq === 1 ? 'is' : 'are'} gone.`
}

/** Opens the workspace in the daemon. Returns false if no daemon runs. */
async function openInDaemon(workspace: string, env: Env): Promise<boolean> {
  const open = (link: Link) => link.call('workspace.open', { workspace, mustExist: true }, nextCommandId('c'))
  return (await tryWithControl(env, open)) !== undefined
}
