// `daemon run`: the process of the background daemon. `daemon start` runs it; people do not need it.

import { credentialsPath, dataDir, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { collectWhenIdle } from '../../../machine/idle-memory.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import { versionWithBuildId } from '../../../machine/version.ts'
import { type CliOption, type CliOptions, type CommandContext, exitCodes, type NamedCommand } from '../../command.ts'
import { loginName } from '../../connection.ts'
import { endingSignal, reportFailedTasks, untilAborted } from '../../ending.ts'
import { httpOptions, portMovedText, requestedHttpPort } from './http.ts'
import { DaemonLog } from './log.ts'
import { prepareFlag, refreshEditorLauncher, removeMemoryDirectory, waitForBeginning } from './starting.ts'

/** A daemon that was started by a session stops this time in ms after the last session has ended. */
const unattendedMsMax = 10 * 60_000

/** An option of `daemon run`, also used in the systemd unit. */
export const logJsonOption = {
  flags: '--log-json',
  text: 'log a JSON object a line: time, level, event, text',
} satisfies CliOption

const runOptions = {
  memory: { flags: '--memory', text: 'databases in memory' },
  home: { flags: '--home <name>', text: 'the workspace that a caller without a credential means' },
  whileAttended: { flags: '--while-attended', text: 'end ten minutes after the last session' },
  prepare: {
    flags: prepareFlag,
    text: 'load everything, then wait until the process that has started it says to go on',
  },
  logJson: logJsonOption,
  ...httpOptions,
} satisfies CliOptions

export const runCommand: NamedCommand<typeof runOptions> = {
  name: 'run',
  text: 'be the daemon (what `daemon start` starts)',
  options: runOptions,
  actsForNoAgent: true,
  isHidden: true,
  run: runDaemon,
}

/**
 * Runs the daemon until it is told to stop. If another process has the lock, this ends with an exit code that tells `daemon start` to look for that process.
 */
async function runDaemon({ env, options }: CommandContext<typeof runOptions>): Promise<void> {
  const ending = endingSignal()
  const log = new DaemonLog(options.logJson === true)
  const onTrouble = (error: Error) => log.logError(error)
  reportFailedTasks(onTrouble)
  const stopped = new AbortController()
  let failure: Error | undefined
  // Imported here, since the other commands of the group do not need it.
  const { Daemon } = await import('../../../daemon/daemon.ts')
  if (options.prepare && !(await waitForBeginning())) return
  const home = options.memory ? undefined : homeWorkspace
  const wish = requestedHttpPort(options, env, { home: options.home ?? home, isThrowAway: options.memory })
  const daemon = await Daemon.start({
    dataDir: dataDir(env),
    credentialsPath: credentialsPath(env),
    vendorHomes: options.memory ? {} : vendorHomes(env),
    isMemory: options.memory,
    human: loginName(),
    http: wish,
    initialWorkspaces: home === undefined ? [] : [home],
    onStop: (_, error) => {
      failure = error
      stopped.abort()
    },
    unattendedStopMs: options.whileAttended ? unattendedMsMax : undefined,
    onTrouble,
  })
  if (!daemon) {
    process.exitCode = exitCodes.lostRace
    return
  }
  if (!options.memory) refreshEditorLauncher(env, onTrouble)
  const place = dataDir(env)
  log.logEvent(
    'started',
    `agent-relay ${versionWithBuildId} runs, pid ${process.pid}, data in ${place}${daemon.url ? `, ${daemon.url}` : ''}`,
    { version: versionWithBuildId, pid: process.pid, data: place, url: daemon.url },
  )
  const moved = portMovedText(wish, daemon.url === undefined ? undefined : Number(new URL(daemon.url).port))
  if (moved !== undefined) log.logEvent('port.moved', moved)
  collectWhenIdle()
  await untilAborted(AbortSignal.any([ending, stopped.signal]))
  if (failure) log.logError(failure)
  log.logEvent('stopping', failure ? 'stopping, because of that' : 'stopping')
  await daemon.stop()
  if (options.memory) removeMemoryDirectory(env)
  else log.logEvent('stopped', 'stopped')
  if (failure) process.exitCode = exitCodes.refused
}
