// `daemon`: the group of commands for the background daemon, with `restart` and `status`. The daemon's own process is in run.ts.

import { uptimeText } from '@agent-relay/sdk/internal/client'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { type CliCommand, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { printWorkspaceFaults, warnOfOtherVersion } from '../../connection.ts'
import { daemonStatus, tryWithControl, withControl } from '../../control-socket.ts'
import { yesOptions } from '../../options.ts'
import type { Printer } from '../../print.ts'
import { withTilde } from '../../text.ts'
import { confirmEndingWork, workEndedText, workEndingWithDaemon } from './ending-work.ts'
import { warnEndsUnattended } from './foreground.ts'
import { logPath } from './log-file.ts'
import { logs } from './logs.ts'
import { restartDaemon } from './restarting.ts'
import { runCommand } from './run.ts'
import { installService } from './service.ts'
import { start } from './start.ts'
import { isMemoryRelay } from './starting.ts'
import { stop } from './stop.ts'
import { upgrade } from './upgrade.ts'

const restart: NamedCommand<typeof yesOptions> = {
  name: 'restart',
  text: 'stop and start the daemon, with the same open workspaces; on a terminal it asks first whether workers may end',
  options: yesOptions,
  examples: ['agent-relay daemon restart'],
  actsForNoAgent: true,
  run: runRestart,
}

const status: NamedCommand = {
  name: 'status',
  isDefault: true,
  text: 'version, process, load and open workspaces',
  examples: ['agent-relay daemon status', 'agent-relay daemon status --json'],
  actsForNoAgent: true,
  run: runStatus,
}

export const daemon: CliCommand = {
  commands: [start, stop, restart, upgrade, status, logs, installService, runCommand],
}

async function runRestart({ env, print, options }: CommandContext<typeof yesOptions>): Promise<void> {
  if (isMemoryRelay(env))
    throw new CommandError(
      'A relay in memory ends with its process. Start a new one: agent-relay daemon start --memory',
      exitCodes.usage,
    )
  const ended = workEndingWithDaemon((await tryWithControl(env, daemonStatus))?.workspaces ?? [])
  await confirmEndingWork(ended, { command: 'daemon restart', yes: options.yes, print })
  const { pid, version, workspaces } = await restartDaemon(env, print)
  if (print.isJson) return void (await print.json({ pid, version, workspaces, ended }))
  print.say(`The daemon runs (pid ${pid}). Open: ${workspaces.join(', ') || 'no workspace'}.`)
  if (ended.length > 0) print.say(workEndedText(ended))
}

async function runStatus({ env, print }: CommandContext): Promise<void> {
  const found = await withControl(env, daemonStatus)
  warnOfOtherVersion(print, found.version)
  if (print.isJson) return void (await print.json(found))
  await sayStatus(print, found, env)
}

async function sayStatus(print: Printer, found: OutputOf<'daemon.status'>, env: Env): Promise<void> {
  const { version: running, pid, uptimeMs, residentMb, lagMs, workspaces } = found
  const open = workspaces.filter((workspace) => workspace.open).map(({ name }) => name)
  const damaged = workspaces.filter(({ fault }) => fault !== undefined).map(({ name }) => name)
  const shut = workspaces.filter(({ open, fault }) => !open && fault === undefined).map(({ name }) => name)
  await print.facts([
    ['daemon', `agent-relay ${running}, pid ${pid}, up ${uptimeText(uptimeMs)}`],
    ['load', `${residentMb} MB, event loop late by ${lagMs.p50} ms (p50), ${lagMs.p99} ms (p99)`],
    ...(found.http ? [['http', `${found.http.url}${found.http.isOpen ? ', open to every program here' : ''}`]] : []),
    ['data', withTilde(found.dataDir, env.HOME)],
    ['log', withTilde(logPath(found.dataDir), env.HOME)],
    ['open', open.join(', ') || 'no workspace'],
    ...(damaged.length > 0 ? [['damaged', damaged.join(', ')]] : []),
    ...(shut.length > 0 ? [['not open', shut.join(', ')]] : []),
  ])
  printWorkspaceFaults(print, workspaces)
  warnEndsUnattended(print, found.endsUnattended)
}
