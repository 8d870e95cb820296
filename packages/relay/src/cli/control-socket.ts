// The daemon's control socket, on which its owner manages it and its workspaces. The sockets of workspaces are in connection.ts.

import { ConnectionError, DaemonNotRunningError } from '@agent-relay/sdk'
import { controlSocketPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { nearestNames } from '../core/nearest.ts'
import { RefusalError } from '../core/refusal-error.ts'

/**
 * Names the calls of this command. An id only has to differ from all others, and no right hangs on it; so its random part comes without Node's cryptography,
 * whose loading would be a sixth of a bare Node's start.
 */
export const nextCommandId = makeIds(Date.now, (bytes) => {
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256
})
/** Interval at which a daemon that starts or stops is asked whether it has. */
export const daemonPollMs = 40

/** Connects to the control socket; fails where no daemon runs. */
export function connectControl(env: Env): Promise<Link> {
  return socketConnector(controlSocketPath(dataDir(env), env))({})
}

/** Connects to the control socket; undefined where nobody listens. */
export async function tryConnectControl(env: Env): Promise<Link | undefined> {
  try {
    return await connectControl(env)
  } catch (error) {
    // The daemon may be starting or stopping in this very moment.
    if (error instanceof DaemonNotRunningError || error instanceof ConnectionError) return undefined
    throw error
  }
}

/** The workspace of this name, open or not; refused with the nearest names where there is none. */
export async function findListedWorkspace(link: Link, workspace: string): Promise<WorkspaceEntry> {
  const { workspaces } = await link.call('workspace.list', {}, nextCommandId('c'))
  const found = workspaces.find(({ name }) => name === workspace)
  if (found) return found
  const names = workspaces.map(({ name }) => name)
  throw new RefusalError('workspace.unknown', { workspace, nearest: nearestNames(workspace, names) })
}
