// `up`: the relay in the foreground. It is the daemon, or a window on the one that runs already; either way it shows each message.

import { RelayClient } from '@agent-relay/sdk'
import { credentialsPath, dataDir, type Env } from '@agent-relay/sdk/discover'
import { Daemon } from '../../daemon.ts'
import { version } from '../../version.ts'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { keyOf, ownersConnector, sayVersion } from '../context.ts'
import { awaitEnding, ended } from '../ending.ts'
import { showFeed } from '../feed.ts'
import { sayLosses } from '../following.ts'
import { hasHttpWish, httpWish, portStays } from '../http.ts'
import { loginName } from '../login-name.ts'
import { outliveTasks } from '../outliving.ts'
import { ownName } from '../own-name.ts'
import type { Print } from '../print.ts'
import { choose, type Entry, forgetMemory, memoryEnv, nextId, reachAndOpen, reachOrBecome } from '../starting.ts'
import { homely } from '../text.ts'

export const run: Run = async (invocation) => {
  const { options, print } = invocation
  const ending = awaitEnding()
  const onTrouble = (error: Error) => print.say(error.message)
  outliveTasks(onTrouble)
  const env = options.memory ? memoryEnv(invocation.env) : invocation.env
  const stopped = new AbortController()
  let failure: Error | undefined
  const http = httpWish(options, env, choose(invocation, env).project)
  const start = () =>
    Daemon.start({
      dataDir: dataDir(env),
      credentialsPath: credentialsPath(env),
      isMemory: options.memory,
      human: loginName(),
      http,
      onStop: (_, error) => {
        failure = error
        stopped.abort()
      },
      onTrouble,
    })
  let daemon: Daemon | undefined
  try {
    const reaching = reachAndOpen(() => reachOrBecome(env, start), invocation, env)
    const { link, entry, ...reached } = await print.during('starting', reaching)
    daemon = reached.daemon
    sayVersion(print, link.welcome.version)
    const { http: port } = await link.call('daemon.status', {}, nextId('c'))
    const page = port && (await link.call('page.link', { workspace: entry.name }, nextId('c'))).url
    void link.close()
    if (!daemon && hasHttpWish(options)) print.say(portStays(port?.url))
    await show(
      invocation,
      env,
      { ...entry, url: port?.url, page },
      daemon !== undefined,
      AbortSignal.any([ending, stopped.signal]),
    )
    if (daemon && !options.quiet) print.say(stopped.signal.aborted ? 'stopping, as asked.' : 'stopping.')
  } finally {
    await daemon?.stop()
    if (options.memory) forgetMemory(env)
  }
  if (failure) throw new CommandError(`The relay had to stop: ${failure.message}`, exits.refused)
}

/** The workspace, where its HTTP port listens, and a link to its page. */
type Opened = Entry & { url?: string; page?: string }

async function show(invocation: Invocation, env: Env, entry: Opened, isOwn: boolean, end: AbortSignal): Promise<void> {
  const { options, print } = invocation
  const key = keyOf(entry.id ?? '', entry.socketPath, env)
  if (key === undefined)
    print.say('There is no key for this workspace in the credentials file: its messages cannot be shown.')
  const connect = ownersConnector(entry.socketPath, entry.id ?? '', env)
  const client = new RelayClient({ connect, key, autoConnect: false })
  await client.connect()
  sayLosses(client, print, end)
  if (print.isJson) {
    const { name, socketPath, path, url } = entry
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
  } else if (!options.quiet) void print.line(banner(print, env, entry, isOwn, options.memory === true))
  try {
    await (options.quiet ? ended(end) : showFeed(client, print, end))
  } finally {
    await client.disconnect()
  }
}

function banner(
  print: Print,
  env: Env,
  { name, socketPath, path, url, page }: Opened,
  isOwn: boolean,
  isMemory: boolean,
): string {
  const own = ownName(env)
  const where = (text: string) => homely(text, env.HOME)
  const line = (label: string, text: string) => `  ${print.paint('dim', label.padEnd(9))} ${text}`
  const lines = [
    `${print.paint('bold', `agent-relay ${version}`)} · workspace ${print.paint('bold', name)}${isOwn ? '' : ', open in the daemon that runs already'}`,
    line('agents', `${own} mcp serve${url === undefined ? '' : `      (or ${url}/mcp)`}`),
    ...(page === undefined
      ? []
      : [line('page', `${page}${page.includes('code=') ? '      once, within five minutes' : ''}`)]),
    line('data', isMemory ? `${where(path)} (in memory: gone when this ends)` : where(path)),
  ]
  if (isMemory) lines.push(line('use it', `export RELAY_DATA_DIR=${dataDir(env)} RELAY_SOCKET=${socketPath}`))
  lines.push(
    `Connect your editor:  ${own} mcp install      See it work without one:  ${own} demo`,
    isOwn
      ? 'ready. Messages appear below, Ctrl-C stops.'
      : 'ready. Messages appear below. Ctrl-C ends this view; the workspace stays open.',
    '',
  )
  return lines.join('\n')
}
