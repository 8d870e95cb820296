// A relay in the foreground, for `up` and `daemon start --test`: this process becomes the daemon, or shows what happens in the daemon that runs already.

import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsPath, dataDir, type Env, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import type { Daemon } from '../../../daemon/daemon.ts'
import { collectWhenIdle } from '../../../machine/idle-memory.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import { type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { chooseWorkspace, loginName, printWorkspaceFaults, warnOfOtherVersion } from '../../connection.ts'
import { daemonStatus, withControl } from '../../control-socket.ts'
import { checkInterrupts, endingSignal, reportFailedTasks } from '../../ending.ts'
import type { Printer } from '../../print.ts'
import { workEndedText, workEndingWithDaemon, workEndsText } from './ending-work.ts'
import { asksForHttpPort, httpOptions, portMovedText, portStaysText, requestedHttpPort } from './http.ts'
import {
  type OpenedWorkspace,
  reachAndOpenWorkspace,
  reachOrRunDaemon,
  refreshEditorLauncher,
  removeMemoryDirectory,
} from './starting.ts'

/** Options that `daemon start` and `up` share. */
export const upOptions = {
  memory: { flags: '--memory', text: 'a throw-away relay: nothing is kept, nothing else is touched' },
  quiet: { flags: '--quiet', text: 'say nothing unless something is wrong' },
  ...httpOptions,
} satisfies CliOptions

/** The opened workspace, with the address of the daemon's HTTP port. */
export type ServedWorkspace = OpenedWorkspace & { url?: string }

/** Shows what happens in the workspace until `end`. `isOwn`: whether this process is the daemon. */
export type ShowWorkspace = (served: ServedWorkspace, isOwn: boolean, end: AbortSignal) => Promise<void>

/** Warns the person if a session has started the daemon (`mcp serve --start`), which then ends some time after the last session. */
export function warnEndsUnattended(print: Printer, endsUnattended = false): void {
  if (endsUnattended)
    print.say(
      'A session started this daemon: it ends ten minutes after the last one. To keep it: agent-relay daemon restart',
    )
}

/**
 * Becomes the daemon for the data directory of `env`, or connects to it, and calls `show`. At the end, the data directory is deleted if the relay is in memory.
 */
export async function runInForeground(
  context: CommandContext<typeof upOptions>,
  env: Env,
  show: ShowWorkspace,
): Promise<void> {
  const { options, print } = context
  print.neverBlock()
  const ending = endingSignal()
  const onTrouble = (error: Error) => print.say(error.message)
  reportFailedTasks(onTrouble)
  const stopped = new AbortController()
  let failure: Error | undefined
  const http = requestedHttpPort(options, env, {
    home: chooseWorkspace(context, env).project,
    isThrowAway: options.memory,
  })
  // Imported here, since the command's help and completion do not need it.
  const { Daemon } = await import('../../../daemon/daemon.ts')
  const start = () =>
    Daemon.start({
      dataDir: dataDir(env),
      credentialsPath: credentialsPath(env),
      vendorHomes: options.memory ? {} : vendorHomes(env),
      isMemory: options.memory,
      human: loginName(),
      http,
      initialWorkspaces: options.memory ? [] : [homeWorkspace],
      onStop: (_, error) => {
        failure = error
        stopped.abort()
      },
      onTrouble,
    })
  let daemon: Daemon | undefined
  try {
    const reaching = reachAndOpenWorkspace(() => reachOrRunDaemon(env, start, (text) => print.say(text)), context, env)
    const { link, opened, ...reached } = await (options.quiet ? reaching : print.during('starting', reaching))
    daemon = reached.daemon
    if (daemon && !options.memory) refreshEditorLauncher(env, onTrouble)
    warnOfOtherVersion(print, link.welcome.version)
    const { http: port, endsUnattended, workspaces } = await daemonStatus(link)
    warnEndsUnattended(print, endsUnattended)
    // If this process is the daemon, it has printed these faults at its start.
    if (!daemon) printWorkspaceFaults(print, workspaces)
    void link.close()
    collectWhenIdle()
    const moved = daemon && portMovedText(http, port?.port)
    if (moved !== undefined) print.say(moved)
    if (!daemon && asksForHttpPort(options)) print.say(portStaysText(port?.url))
    if (daemon && process.stdin.isTTY) checkInterrupts((end) => mayInterrupt(env, print, end))
    await show({ ...opened, url: port?.url }, daemon !== undefined, AbortSignal.any([ending, stopped.signal]))
    if (daemon && !options.quiet) await sayStopping(print, env, stopped.signal.aborted)
  } finally {
    await daemon?.stop()
    if (options.memory) removeMemoryDirectory(env)
    print.exitAfterLastLines()
  }
  if (failure) throw new CommandError(`The relay had to stop: ${failure.message}`, exitCodes.refused)
}

/** Prints that the relay stops, and the work that ends with it. A command that has asked for the stop has listed that work already. */
async function sayStopping(print: Printer, env: Env, isAsked: boolean): Promise<void> {
  const work = isAsked ? [] : await workOfDaemon(env)
  print.say(isAsked ? 'stopping, as asked.' : 'stopping.')
  if (work.length > 0) print.say(workEndedText(work))
}

/** Time in ms within which a second Ctrl-C ends the relay and its workers. */
const secondInterruptMs = 5_000

/**
 * Decides whether Ctrl-C ends the relay. If no work would end with it, it does at once. Otherwise the work is listed, and only a second Ctrl-C ends the relay.
 */
async function mayInterrupt(env: Env, print: Printer, ending: AbortSignal): Promise<boolean> {
  const work = await workOfDaemon(env)
  if (work.length === 0) return true
  print.say(`${workEndsText(work)} Press Ctrl-C again within ${secondInterruptMs / 1000} seconds to end it all.`)
  await sleep(secondInterruptMs, undefined, { signal: ending }).catch(() => {})
  if (!ending.aborted) print.say('The relay goes on.')
  return ending.aborted
}

async function workOfDaemon(env: Env): Promise<string[]> {
  return workEndingWithDaemon((await withControl(env, daemonStatus)).workspaces)
}
