// A relay in the foreground, for `up` and `daemon start --test`: this process is the daemon, or shows the one that already runs.

import { credentialsPath, dataDir, type Env, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import type { Daemon } from '../../../daemon/daemon.ts'
import { collectWhenIdle } from '../../../machine/idle-memory.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import { type CliOptions, CommandError, type Context, exits } from '../../command.ts'
import { chooseWorkspace, loginName, sayFaults, sayVersion } from '../../connection.ts'
import { nextId } from '../../control-socket.ts'
import { awaitEnding, outliveTasks } from '../../ending.ts'
import type { Print } from '../../print.ts'
import { type HttpOptions, hasHttpWish, httpOptions, httpWish, portMoved, portStays } from './http.ts'
import { forgetMemory, keepLauncher, type OpenedWorkspace, reachAndOpen, reachOrBecome } from './starting.ts'

/** The options of both commands that start a daemon: `daemon start` and `up`. */
export interface UpOptions extends HttpOptions {
  memory?: boolean
  quiet?: boolean
}

export const upOptions: CliOptions<UpOptions> = {
  memory: { flags: '--memory', text: 'a throw-away relay: nothing is kept, nothing else is touched' },
  quiet: { flags: '--quiet', text: 'say nothing unless something is wrong' },
  ...httpOptions,
}

/** The opened workspace, and the address of the daemon's HTTP port. */
export type Served = OpenedWorkspace & { url?: string }

/** Shows the workspace until `end`. `isOwn`: this process is the daemon. */
export type Show = (served: Served, isOwn: boolean, end: AbortSignal) => Promise<void>

/** Warns that a daemon which `serve --start` started ends some time after the last session. */
export function warnEndsUnattended(print: Print, endsUnattended = false): void {
  if (endsUnattended)
    print.say(
      'A session started this daemon: it ends ten minutes after the last one. To keep it: agent-relay daemon restart',
    )
}

/** Runs the daemon or finds it, in the data directory of `env`, and shows the workspace until the end. The directory of a relay in memory is removed then. */
export async function inForeground(context: Context<UpOptions>, env: Env, show: Show): Promise<void> {
  const { options, print } = context
  print.neverBlock()
  const ending = awaitEnding()
  const onTrouble = (error: Error) => print.say(error.message)
  outliveTasks(onTrouble)
  const stopped = new AbortController()
  let failure: Error | undefined
  const http = httpWish(options, env, { home: chooseWorkspace(context, env).project, isThrowAway: options.memory })
  // Imported here because the help and the completion of this command do not need it.
  const { Daemon } = await import('../../../daemon/daemon.ts')
  const start = () =>
    Daemon.start({
      dataDir: dataDir(env),
      credentialsPath: credentialsPath(env),
      vendorHomes: options.memory ? {} : vendorHomes(env),
      isMemory: options.memory,
      human: loginName(),
      http,
      opens: options.memory ? [] : [homeWorkspace],
      onStop: (_, error) => {
        failure = error
        stopped.abort()
      },
      onTrouble,
    })
  let daemon: Daemon | undefined
  try {
    const reaching = reachAndOpen(() => reachOrBecome(env, start, (text) => print.say(text)), context, env)
    const { link, opened, ...reached } = await (options.quiet ? reaching : print.during('starting', reaching))
    daemon = reached.daemon
    if (daemon && !options.memory) keepLauncher(env, onTrouble)
    sayVersion(print, link.welcome.version)
    const { http: port, endsUnattended, workspaces } = await link.call('daemon.status', {}, nextId('c'))
    warnEndsUnattended(print, endsUnattended)
    // A daemon in this process has told its faults when it started.
    if (!daemon) sayFaults(print, workspaces)
    void link.close()
    collectWhenIdle()
    const moved = daemon && portMoved(http, port?.port)
    if (moved !== undefined) print.say(moved)
    if (!daemon && hasHttpWish(options)) print.say(portStays(port?.url))
    await show({ ...opened, url: port?.url }, daemon !== undefined, AbortSignal.any([ending, stopped.signal]))
    if (daemon && !options.quiet) print.say(stopped.signal.aborted ? 'stopping, as asked.' : 'stopping.')
  } finally {
    await daemon?.stop()
    if (options.memory) forgetMemory(env)
    print.farewell()
  }
  if (failure) throw new CommandError(`The relay had to stop: ${failure.message}`, exits.refused)
}
