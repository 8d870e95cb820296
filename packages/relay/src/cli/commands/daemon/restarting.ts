// Stops the daemon and starts it again with the same port and the same open workspaces, for `daemon restart` and `daemon upgrade`.

import { dataDir, type Env, isSocketAlive } from '@agent-relay/sdk/internal/discover'
import type { Link } from '@agent-relay/sdk/wire'
import { usualPort } from '../../../machine/http-port.ts'
import { CommandError, exitCodes } from '../../command.ts'
import { printWorkspaceFaults } from '../../connection.ts'
import { daemonStatus, listWorkspaces, nextCommandId, tryConnectControl } from '../../control-socket.ts'
import type { Printer } from '../../print.ts'
import { type HttpPortRequest, httpArguments, requestedHttpPort } from './http.ts'
import { type PreparedDaemon, prepareDaemon, reachOrSpawnDaemon } from './starting.ts'
import { stopDaemon } from './stop.ts'

export interface RestartedDaemon {
  pid: number
  version: string
  workspaces: string[]
}

export async function restartDaemon(env: Env, print: Printer): Promise<RestartedDaemon> {
  const before = await tryConnectControl(env)
  const open = before ? await openNames(before) : []
  const status = before && (await daemonStatus(before))
  const http = status && !status.endsUnattended ? keptHttp(status.http, env) : requestedHttpPort({}, env)
  void before?.close()
  const args = httpArguments(http)
  const prepared = before && (await print.during('starting the daemon', prepareDaemon(env, args)))
  if (prepared) await takeOver(env, prepared, print)
  else print.say('No daemon was running.')
  const { link } = await print.during(
    'starting the daemon',
    reachOrSpawnDaemon(env, args, (text) => print.say(text), { prepared }),
  )
  for (const workspace of open) {
    const opening = link.call('workspace.open', { workspace, mustExist: true }, nextCommandId('c'))
    // If the new version has to migrate a large workspace, opening it takes long.
    const { socketPath } = await print.during(`opening workspace ${workspace}`, opening)
    if (!(await isSocketAlive(socketPath)))
      throw new CommandError(`The socket ${socketPath} does not answer.`, exitCodes.busy)
  }
  const { pid, version, workspaces } = await daemonStatus(link)
  printWorkspaceFaults(print, workspaces)
  await link.close()
  return { pid, version, workspaces: open }
}

/** Stops the running daemon, and lets the prepared new one begin. */
async function takeOver(env: Env, prepared: PreparedDaemon, print: Printer): Promise<void> {
  try {
    await print.during('stopping', stopDaemon(env))
  } catch (error) {
    prepared.end()
    throw error
  }
  prepared.begin()
}

/** Returns the HTTP settings for the next daemon. The usual port is left out: if it is not free then, another one may be taken. */
function keptHttp(http: HttpPortRequest | undefined, env: Env): HttpPortRequest | undefined {
  return http && { ...http, port: http.port === usualPort(dataDir(env)) ? undefined : http.port }
}

async function openNames(link: Link): Promise<string[]> {
  return (await listWorkspaces(link)).filter(({ open }) => open).map(({ name }) => name)
}
