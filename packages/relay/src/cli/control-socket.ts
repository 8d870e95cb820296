// The daemon's control socket, on which its owner manages the daemon and its workspaces. connection.ts uses the sockets of workspaces.

import { ConnectionError, DaemonNotRunningError } from '@agent-relay/sdk'
import { controlSocketPath, dataDir, type Env } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { nearestNames } from '../core/nearest.ts'
import { RefusalError } from '../core/refusal-error.ts'

/**
 * Makes the ids of this command's calls. They must only be unique: no right depends on them. So their random part does not use Node's cryptography, whose
 * loading would take a sixth of Node's start.
 */
export const nextCommandId = makeIds(Date.now, (bytes) => {
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256
})
/** Interval in ms between two attempts to reach a daemon that is starting or stopping. */
export const daemonPollMs = 40

/** Connects to the control socket. Throws if no daemon runs. */
export function connectControl(env: Env): Promise<Link> {
  return socketConnector(controlSocketPath(dataDir(env), env))({})
}

/** Connects to the control socket; undefined if no daemon answers. */
export async function tryConnectControl(env: Env): Promise<Link | undefined> {
  try {
    return await connectControl(env)
  } catch (error) {
    // A ConnectionError: the daemon is starting or stopping at this moment.
    if (error instanceof DaemonNotRunningError || error instanceof ConnectionError) return undefined
    throw error
  }
}

/** Runs `work` on the control socket, and closes it in any case; fails where no daemon runs. */
export async function withControl<T>(env: Env, work: (link: Link) => Promise<T>): Promise<T> {
  return closeAfter(await connectControl(env), work)
}

/** Like withControl, but undefined where nobody listens. */
export async function tryWithControl<T>(env: Env, work: (link: Link) => Promise<T>): Promise<T | undefined> {
  const link = await tryConnectControl(env)
  return link && closeAfter(link, work)
}

async function closeAfter<T>(link: Link, work: (link: Link) => Promise<T>): Promise<T> {
  try {
    return await work(link)
  } finally {
    await link.close()
  }
}

export function daemonStatus(link: Link): Promise<OutputOf<'daemon.status'>> {
  return link.call('daemon.status', {}, nextCommandId('c'))
}

/** All workspaces of this machine, open or not. */
export async function listWorkspaces(link: Link): Promise<WorkspaceEntry[]> {
  return (await link.call('workspace.list', {}, nextCommandId('c'))).workspaces
}

/** Returns the workspace of this name, open or not. Throws with similar names if there is none. */
export async function findListedWorkspace(link: Link, workspace: string): Promise<WorkspaceEntry> {
  const workspaces = await listWorkspaces(link)
  const found = workspaces.find(({ name }) => name === workspace)
  if (found) return found
  const names = workspaces.map(({ name }) => name)
  throw new RefusalError('workspace.unknown', { workspace, nearest: nearestNames(workspace, names) })
}
