// `daemon start`: the relay in the background. `up` is the same in the foreground.

import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { CliOptions, Context, NamedCommand } from '../../command.ts'
import { chooseWorkspace, sayFaults, sayVersion } from '../../connection.ts'
import type { Print } from '../../print.ts'
import { homely } from '../../text.ts'
import { type HttpOptions, hasHttpWish, httpArgs, httpOptions, httpWish, portMoved, portStays } from './http.ts'
import { exportLine, forgetMemory, memoryEnv, reachAndOpen, reachOrSpawn } from './starting.ts'
import { statusOf, stopAndWait } from './stop.ts'

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

interface StartOptions extends UpOptions {
  test?: boolean
  whileAttended?: boolean
}

export const start: NamedCommand<StartOptions> = {
  name: 'start',
  text: 'start it if it does not run, and open the workspace of this directory',
  options: {
    ...upOptions,
    test: { flags: '--test', text: 'the same as --memory: prints the variables to set' },
    whileAttended: {
      flags: '--while-attended',
      text: 'what mcp install --start uses: it ends ten minutes after the last session',
      isHidden: true,
    },
  },
  examples: [
    'agent-relay daemon start',
    'agent-relay daemon start --project frontend',
    'eval "$(agent-relay daemon start --test)"',
  ],
  isNobody: true,
  run: runStart,
}

/** Of a daemon that `serve --start` started, whoever wants one should know that it goes. */
export function sayAttended(print: Print, endsUnattended = false): void {
  if (endsUnattended)
    print.say(
      'A session started this daemon: it ends ten minutes after the last one. To keep it: agent-relay daemon restart',
    )
}

export async function runStart(context: Context<StartOptions>): Promise<void> {
  const { options, print } = context
  const memory = options.memory || options.test
  const env = memory ? memoryEnv(context.env) : context.env
  const wish = httpWish(options, env, { home: chooseWorkspace(context, env).project, isThrowAway: memory })
  const { whileAttended } = options
  const args = [...httpArgs(wish), ...(memory ? ['--memory'] : []), ...(whileAttended ? ['--while-attended'] : [])]
  try {
    const reaching = reachAndOpen(() => reachOrSpawn(env, args, (text) => print.say(text)), context, env)
    const { link, opened, childPid } = await (options.quiet ? reaching : print.during('starting the daemon', reaching))
    sayVersion(print, link.welcome.version)
    const { pid, http, endsUnattended, workspaces } = await statusOf(link)
    sayFaults(print, workspaces)
    const isNew = pid === childPid
    if (!whileAttended) sayAttended(print, endsUnattended)
    const moved = isNew ? portMoved(wish, http?.port) : undefined
    if (moved !== undefined) print.say(moved)
    if (!isNew && !whileAttended && hasHttpWish(options)) print.say(portStays(http?.url))
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
      await print.line(exportLine(settings))
      if (!options.quiet)
        print.say(`A relay in memory runs (pid ${pid}). Set the variables above; agent-relay daemon stop ends it.`)
    } else if (!options.quiet) {
      print.say(`${isNew ? 'The daemon runs' : 'The daemon was already running'} (pid ${pid}).`)
      await print.line(`workspace ${opened.name}  ${homely(opened.socketPath, env.HOME)}`)
      if (http) await print.line(`http      ${http.url}/mcp`)
    }
  } catch (error) {
    if (memory) await stopAndWait(env).catch(() => forgetMemory(env))
    throw error
  }
}
