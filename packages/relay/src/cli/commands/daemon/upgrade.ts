// `daemon upgrade`: replaces the running daemon by the version that is installed here. All that would prevent the new one from starting is checked while the
// old one still runs.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import { DataDirectory } from '../../../machine/data-directory.ts'
import { versionWithBuildId } from '../../../machine/version.ts'
import { type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { daemonStatus, withControl } from '../../control-socket.ts'
import { yesOptions } from '../../options.ts'
import { confirmEndingWork, workEndedText, workEndingWithDaemon } from './ending-work.ts'
import { restartDaemon } from './restarting.ts'
import { isMemoryRelay } from './starting.ts'

export const upgrade: NamedCommand<typeof yesOptions> = {
  name: 'upgrade',
  text: 'replace the running daemon by the version of this installation; sessions reconnect by themselves',
  options: yesOptions,
  examples: ['agent-relay daemon upgrade', 'agent-relay daemon upgrade --yes'],
  actsForNoAgent: true,
  run,
}

async function run({ options, env, print }: CommandContext<typeof yesOptions>): Promise<void> {
  if (isMemoryRelay(env)) throw new CommandError('A relay in memory ends with its process.', exitCodes.usage)
  const before = await withControl(env, daemonStatus)
  if (before.version === versionWithBuildId) {
    if (print.isJson)
      return void (await print.json({ from: versionWithBuildId, to: versionWithBuildId, pid: before.pid, ended: [] }))
    return print.say(`The daemon runs agent-relay ${versionWithBuildId} already (pid ${before.pid}).`)
  }
  await checkDatabaseVersions(new DataDirectory(dataDir(env)))
  const ended = workEndingWithDaemon(before.workspaces)
  await confirmEndingWork(ended, { command: 'daemon upgrade', yes: options.yes, refusesUnasked: true, print })
  const after = await restartDaemon(env, print)
  if (print.isJson) return void (await print.json({ from: before.version, to: after.version, pid: after.pid, ended }))
  print.say(`The daemon runs agent-relay ${after.version} (pid ${after.pid}); it was ${before.version}.`)
  if (ended.length > 0) print.say(workEndedText(ended))
}

/** Throws if this version cannot open one of the databases: the new daemon could not serve what the running one does. */
async function checkDatabaseVersions(directory: DataDirectory): Promise<void> {
  const { assertKnownVersion } = await import('../../../daemon/inspect.ts')
  for (const name of directory.workspaces()) assertKnownVersion(directory.databasePath(name))
}
