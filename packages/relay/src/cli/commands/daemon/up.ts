// `up`: the relay in the foreground. This process is the daemon, or it shows the messages of the daemon that already runs.

import { RelayClient, RelayError } from '@agent-relay/sdk'
import { credentialsPath, dataDir, type Env, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import type { Daemon } from '../../../daemon/daemon.ts'
import { version } from '../../../machine/version.ts'
import { type CliCommand, CommandError, type Context, exits } from '../../command.ts'
import { chooseWorkspace, keyOf, loginName, ownersConnector, sayFaults, sayVersion } from '../../connection.ts'
import { nextId } from '../../control-socket.ts'
import { awaitEnding, ended, outliveTasks } from '../../ending.ts'
import { sayLosses, showFeed } from '../../feed.ts'
import { ownName } from '../../own-name.ts'
import { controlAsPerson } from '../../person.ts'
import type { Print } from '../../print.ts'
import { homely } from '../../text.ts'
import { endLightStart } from './heap.ts'
import { hasHttpWish, httpWish, portMoved, portStays } from './http.ts'
import { sayAttended, type UpOptions, upOptions } from './start.ts'
import {
  exportLine,
  forgetMemory,
  keepLauncher,
  memoryEnv,
  type OpenedWorkspace,
  reachAndOpen,
  reachOrBecome,
} from './starting.ts'

export const up: CliCommand<UpOptions> = {
  options: upOptions,
  examples: ['agent-relay up', 'agent-relay up --project frontend', 'agent-relay up --memory'],
  isNobody: true,
  run,
}

async function run(context: Context<UpOptions>): Promise<void> {
  const { options, print } = context
  print.neverBlock()
  const ending = awaitEnding()
  const onTrouble = (error: Error) => print.say(error.message)
  outliveTasks(onTrouble)
  const env = options.memory ? memoryEnv(context.env) : context.env
  const stopped = new AbortController()
  let failure: Error | undefined
  const http = httpWish(options, env, { home: chooseWorkspace(context, env).project, isThrowAway: options.memory })
  // Imported here because the help and the completion of this command do not need it.
  const { Daemon } = await import('../../../daemon/daemon.ts')
  const start = () =>
    Daemon.start({
      dataDir: dataDir(env),
      credentialsPath: credentialsPath(env),
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
    sayAttended(print, endsUnattended)
    // A daemon of this process has said so when it started.
    if (!daemon) sayFaults(print, workspaces)
    const page = port && (await pageLink(env, opened.name))
    void link.close()
    endLightStart()
    const moved = daemon && portMoved(http, port?.port)
    if (moved !== undefined) print.say(moved)
    if (!daemon && hasHttpWish(options)) print.say(portStays(port?.url))
    await show(
      context,
      env,
      { ...opened, url: port?.url, page },
      daemon !== undefined,
      AbortSignal.any([ending, stopped.signal]),
    )
    if (daemon && !options.quiet) print.say(stopped.signal.aborted ? 'stopping, as asked.' : 'stopping.')
  } finally {
    await daemon?.stop()
    if (options.memory) forgetMemory(env)
    print.farewell()
  }
  if (failure) throw new CommandError(`The relay had to stop: ${failure.message}`, exits.refused)
}

/** Undefined for an agent that has started it, and for what may be one. */
async function pageLink(env: Env, workspace: string): Promise<string | undefined> {
  try {
    return (await controlAsPerson(env, (link) => link.call('page.link', { workspace }, nextId('c')))).url
  } catch (error) {
    if (error instanceof RelayError && error.code === 'person.required') return undefined
    throw error
  }
}

/** The workspace, where its HTTP port listens, and a link to its page. */
type Shown = OpenedWorkspace & { url?: string; page?: string }

async function show(
  context: Context<UpOptions>,
  env: Env,
  opened: Shown,
  isOwn: boolean,
  end: AbortSignal,
): Promise<void> {
  const { options, print } = context
  const key = keyOf(opened.id ?? '', opened.socketPath, env)
  if (key === undefined)
    print.say('The credentials file has no key for this workspace, so its messages cannot be shown.')
  const connect = ownersConnector(opened.socketPath, opened.id ?? '', env)
  const client = new RelayClient({ connect, key, autoConnect: false })
  await client.connect()
  sayLosses(client, print, end)
  if (print.isJson) {
    const { name, socketPath, path, url } = opened
    void print.json({
      type: 'ready',
      version,
      workspace: name,
      socketPath,
      path,
      url,
      dataDir: dataDir(env),
      isDaemon: isOwn,
    })
  } else if (!options.quiet) void print.line(banner(print, env, opened, isOwn, options.memory === true))
  try {
    await (options.quiet ? ended(end) : showFeed(client, print, end))
  } finally {
    await client.disconnect()
  }
}

function banner(
  print: Print,
  env: Env,
  { name, socketPath, path, url, page }: Shown,
  isOwn: boolean,
  isMemory: boolean,
): string {
  const own = ownName(env)
  const where = (text: string) => homely(text, env.HOME)
  const line = (label: string, text: string) => `  ${print.paint('dim', label.padEnd(9))} ${text}`
  const lines = [
    `${print.paint('bold', `agent-relay ${version}`)} · workspace ${print.paint('bold', name)}${isOwn ? '' : ', open in the daemon that is already running'}`,
    line('agents', `${own} mcp serve${url === undefined ? '' : `      (or ${url}/mcp)`}`),
    ...(page === undefined ? [] : [line('page', `${page}      once, within five minutes`)]),
    line('data', isMemory ? `${where(path)} (in memory: gone when this ends)` : where(path)),
  ]
  if (isMemory) lines.push(line('use it', exportLine({ RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: socketPath })))
  lines.push(
    `Connect your editor:  ${own} mcp install      See it work without one:  ${own} demo`,
    isOwn
      ? 'ready. Messages appear below, Ctrl-C stops.'
      : 'ready. Messages appear below. Ctrl-C ends this view; the workspace stays open.',
    '',
  )
  return lines.join('\n')
}
