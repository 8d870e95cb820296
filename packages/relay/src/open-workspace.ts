// A workspace as the daemon has it open: with its wire and what carries out its runs and workers; and how it is taken out of a daemon that goes on.

import { daemonName } from '@agent-relay/sdk/protocol'
import type { Dispatch } from './broker/dispatch.ts'
import type { Workspace } from './broker/workspace.ts'
import { RefusalError } from './refusal-error.ts'
import type { Runner } from './runs/runner.ts'
import type { Supervisor } from './supervisor/supervisor.ts'
import type { SocketWire } from './wires/socket.ts'

export interface OpenWorkspace {
  workspace: Workspace
  dispatch: Dispatch
  runner: Runner
  wire: SocketWire
  supervisor: Supervisor
}

/** Who would lose something if it went now: agents that are connected, and workers that run. */
export function usersOf({ workspace }: OpenWorkspace): string[] {
  const connected = workspace.sessions.all().flatMap(({ agent }) => (agent === undefined ? [] : [agent]))
  const working = workspace.workers.rows().map(({ name }) => name)
  return [...new Set([...connected, ...working])].filter((name) => name !== daemonName).sort()
}

/** Everybody is told why; when this resolves, its files are closed and nothing writes to them any more. */
export async function takeDown({ workspace, runner, supervisor, wire }: OpenWorkspace): Promise<void> {
  const why = new RefusalError('workspace.removed', { workspace: workspace.name })
  workspace.waits.stopAll()
  for (const session of workspace.sessions.all()) workspace.sessions.end(session, why)
  await runner.close()
  await supervisor.close()
  await wire.close(why.refusal.code, why.refusal.details)
  workspace.close(why)
}
