// Stops the daemon and starts it again with the same port and the same open workspaces, for `daemon restart` and `daemon upgrade`.

import { dataDir, type Env, isAlive } from '@agent-relay/sdk/internal/discover'
import type { Link } from '@agent-relay/sdk/wire'
import { usualPort } from '../../../machine/http-port.ts'
import { CommandError, exits } from '../../command.ts'
import { sayFaults } from '../../connection.ts'
import { nextId, reachControl } from '../../control-socket.ts'
import type { Print } from '../../print.ts'
import { type HttpWish, httpArgs, httpWish } from './http.ts'
import { reachOrSpawn } from './starting.ts'
import { statusOf, stopAndWait } from './stop.ts'

export interface Restarted {
  pid: number
  version: string
  workspaces: string[]
}

export async function restartDaemon(env: Env, print: Print): Promise<Restarted> {
  const before = await reachControl(env)
  const open = before ? await openNames(before) : []
  const status = before && (await statusOf(before))
  const http = status && !status.endsUnattended ? keptHttp(status.http, env) : httpWish({}, env)
  void before?.close()
  if (before) await print.during('stopping', stopAndWait(env))
  else print.say('No daemon was running.')
  const { link } = await print.during(
    'starting the daemon',
    reachOrSpawn(env, httpArgs(http), (text) => print.say(text)),
  )
  for (const workspace of open) {
    const { socketPath } = await link.call('workspace.open', { workspace, mustExist: true }, nextId('c'))
    if (!(await isAlive(socketPath))) throw new CommandError(`The socket ${socketPath} does not answer.`, exits.busy)
  }
  const { pid, version, workspaces } = await statusOf(link)
  sayFaults(print, workspaces)
  await link.close()
  return { pid, version, workspaces: open }
}

/** The HTTP port that the next daemon gets. The usual one is left out: nobody asked for it, and it need not be free again. */
function keptHttp(http: HttpWish | undefined, env: Env): HttpWish | undefined {
  return http && { ...http, port: http.port === usualPort(dataDir(env)) ? undefined : http.port }
}

async function openNames(link: Link): Promise<string[]> {
  const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
  return workspaces.filter(({ open }) => open).map(({ name }) => name)
}
