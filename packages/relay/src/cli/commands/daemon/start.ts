// `daemon start`: starts the daemon in the background, or with `--test` a relay in memory for the tests of a directory. `up` runs it in the foreground.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { CliOptions, CommandContext, NamedCommand } from '../../command.ts'
import { chooseWorkspace, printWorkspaceFaults, warnOfOtherVersion } from '../../connection.ts'
import { daemonStatus } from '../../control-socket.ts'
import { withTilde } from '../../text.ts'
import { upOptions, warnEndsUnattended } from './foreground.ts'
import { asksForHttpPort, httpArguments, portMovedText, portStaysText, requestedHttpPort } from './http.ts'
import {
  newMemoryEnv,
  reachAndOpenWorkspace,
  reachOrSpawnDaemon,
  removeMemoryDirectory,
  shellExportLine,
} from './starting.ts'
import { stopDaemon } from './stop.ts'
import { runTestRelay } from './testing.ts'

const startOptions = {
  ...upOptions,
  test: {
    flags: '--test',
    text: 'run in memory and in the foreground, until a signal; programs started in this directory use it meanwhile',
  },
  whileAttended: {
    flags: '--while-attended',
    text: 'end ten minutes after the last session, as entries of mcp install --start want it',
    isHidden: true,
  },
} satisfies CliOptions

export const start: NamedCommand<typeof startOptions> = {
  name: 'start',
  text: 'start the daemon if it does not run, and open the workspace of this directory',
  options: startOptions,
  examples: [
    'agent-relay daemon start',
    'agent-relay daemon start --project frontend',
    'agent-relay daemon start --test',
    'eval "$(agent-relay daemon start --memory)"',
  ],
  actsForNoAgent: true,
  run: runDaemonStart,
}

export async function runDaemonStart(context: CommandContext<typeof startOptions>): Promise<void> {
  const { options, print } = context
  if (options.test) return runTestRelay(context)
  const { memory } = options
  const env = memory ? newMemoryEnv(context.env) : context.env
  const wish = requestedHttpPort(options, env, { home: chooseWorkspace(context, env).project, isThrowAway: memory })
  const { whileAttended } = options
  const args = [...httpArguments(wish), ...(memory ? ['--memory'] : []), ...(whileAttended ? ['--while-attended'] : [])]
  try {
    const reaching = reachAndOpenWorkspace(() => reachOrSpawnDaemon(env, args, (text) => print.say(text)), context, env)
    const { link, opened, childPid } = await (options.quiet ? reaching : print.during('starting the daemon', reaching))
    warnOfOtherVersion(print, link.welcome.version)
    const { pid, http, endsUnattended, workspaces } = await daemonStatus(link)
    printWorkspaceFaults(print, workspaces)
    const isNew = pid === childPid
    if (!whileAttended) warnEndsUnattended(print, endsUnattended)
    const moved = isNew ? portMovedText(wish, http?.port) : undefined
    if (moved !== undefined) print.say(moved)
    if (!isNew && !whileAttended && asksForHttpPort(options)) print.say(portStaysText(http?.url))
    await link.close()
    const settings = { RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: opened.socketPath }
    if (print.isJson) {
      const { name, id, socketPath, path, created } = opened
      await print.json({
        workspace: name,
        id,
        socketPath,
        path,
        dataDir: dataDir(env),
        pid,
        isNew,
        created,
        url: http?.url,
        ...(memory ? { env: settings } : {}),
      })
    } else if (memory) {
      await print.line(shellExportLine(settings))
      if (!options.quiet)
        print.say(`A relay in memory runs (pid ${pid}). Set the variables above; agent-relay daemon stop ends it.`)
    } else if (!options.quiet) {
      print.say(`${isNew ? 'The daemon runs' : 'The daemon was already running'} (pid ${pid}).`)
      await print.line(`workspace ${opened.name}  ${withTilde(opened.socketPath, env.HOME)}`)
      if (http) await print.line(`http      ${http.url}/mcp`)
    }
  } catch (error) {
    if (memory) await stopDaemon(env).catch(() => removeMemoryDirectory(env))
    throw error
  }
}
