// `daemon run`: the background daemon's own process, which `daemon start` starts; a person never needs it.

import { credentialsPath, dataDir, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { collectWhenIdle } from '../../../machine/idle-memory.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import { version } from '../../../machine/version.ts'
import { type Context, exits, type NamedCommand } from '../../command.ts'
import { loginName } from '../../connection.ts'
import { awaitEnding, ended, outliveTasks } from '../../ending.ts'
import { type HttpOptions, httpOptions, httpWish, portMoved } from './http.ts'
import { Log } from './log.ts'
import { forgetMemory, keepLauncher } from './starting.ts'

interface RunOptions extends HttpOptions {
  memory?: boolean
  home?: string
  whileAttended?: boolean
  logJson?: boolean
}

/** A daemon that a session started goes on for this long after the last session. */
const unattendedMsMax = 10 * 60_000

/** The option of `daemon run`, and of a unit that runs it. */
export const logJsonOption = { flags: '--log-json', text: 'log a JSON object a line: time, level, event, text' }

export const run: NamedCommand<RunOptions> = {
  name: 'run',
  text: 'be the daemon (what `daemon start` starts)',
  options: {
    memory: { flags: '--memory', text: 'databases in memory' },
    home: { flags: '--home <name>', text: 'the workspace that a caller without a credential means' },
    whileAttended: { flags: '--while-attended', text: 'end ten minutes after the last session' },
    logJson: logJsonOption,
    ...httpOptions,
  },
  actsForNoAgent: true,
  isHidden: true,
  run: beDaemon,
}

/** Runs the daemon until it is told to stop. Losing the race for the lock is not a failure: the exit code tells the starter to look again. */
async function beDaemon({ env, options }: Context<RunOptions>): Promise<void> {
  const ending = awaitEnding()
  const log = new Log(options.logJson === true)
  const onTrouble = (error: Error) => log.trouble(error)
  outliveTasks(onTrouble)
  const stopped = new AbortController()
  let failure: Error | undefined
  // Imported here because the other commands of the group do not need it.
  const { Daemon } = await import('../../../daemon/daemon.ts')
  const home = options.memory ? undefined : homeWorkspace
  const wish = httpWish(options, env, { home: options.home ?? home, isThrowAway: options.memory })
  const daemon = await Daemon.start({
    dataDir: dataDir(env),
    credentialsPath: credentialsPath(env),
    vendorHomes: options.memory ? {} : vendorHomes(env),
    isMemory: options.memory,
    human: loginName(),
    http: wish,
    opens: home === undefined ? [] : [home],
    onStop: (_, error) => {
      failure = error
      stopped.abort()
    },
    attendedMs: options.whileAttended ? unattendedMsMax : undefined,
    onTrouble,
  })
  if (!daemon) {
    process.exitCode = exits.lostRace
    return
  }
  if (!options.memory) keepLauncher(env, onTrouble)
  const place = dataDir(env)
  log.say(
    'started',
    `agent-relay ${version} runs, pid ${process.pid}, data in ${place}${daemon.url ? `, ${daemon.url}` : ''}`,
    { version, pid: process.pid, data: place, url: daemon.url },
  )
  const moved = portMoved(wish, daemon.url === undefined ? undefined : Number(new URL(daemon.url).port))
  if (moved !== undefined) log.say('port.moved', moved)
  collectWhenIdle()
  await ended(AbortSignal.any([ending, stopped.signal]))
  if (failure) log.trouble(failure)
  log.say('stopping', failure ? 'stopping, because of that' : 'stopping')
  await daemon.stop()
  if (options.memory) forgetMemory(env)
  else log.say('stopped', 'stopped')
  if (failure) process.exitCode = exits.refused
}
