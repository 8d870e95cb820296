// A workspace that the daemon has open: which agents use it, and how it is closed while the daemon continues. build-workspace.ts makes it.

import { daemonName } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import type { AgentProcess } from '../broker/sessions/person.ts'
import { hostedSessions } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Runner } from '../runs/runner.ts'
import type { SocketWire } from '../wires/socket.ts'

export interface OpenWorkspace {
  workspace: Workspace
  dispatch: Dispatch
  runner: Runner
  wire: SocketWire
}

/** What the daemon remembers of a workspace when it puts it to rest, which means closing it until somebody uses it. */
export interface RestSummary {
  /** The number of the workspace's last journal entry. */
  seq: number
  /** Number of needs, the things that wait for the person. */
  needs: number
  /** Time in ms for which the workspace's policy keeps finished events. Unset: for ever. */
  keepMs?: number
}

/** Returns the names of the agents whose work ends with the daemon: workers that should run, and agents of runs of the built-in loop. */
export function workerNamesOf({ workers, store }: Workspace): string[] {
  return [...new Set([...workers.reports.wishedWorkers().map(({ name }) => name), ...loopAgentsOf(store)])]
}

function loopAgentsOf(store: Workspace['store']): string[] {
  try {
    return store.view.runs.running().flatMap(({ harness, agent }) => (harness === 'loop' ? agent : []))
  } catch {
    // The table of runs cannot be read: the agents of loops are left out.
    return []
  }
}

/** Returns the agents that closing the workspace would disturb: connected agents, and agents whose work would end. */
export function userNamesOf({ workspace }: OpenWorkspace): string[] {
  const connected = workspace.sessions.all().flatMap(({ agent }) => (agent === undefined ? [] : [agent]))
  return [...new Set([...connected, ...workerNamesOf(workspace)])].filter((name) => name !== daemonName).sort()
}

/** Returns the processes of agents by process id: the programs that have started our MCP server for an agent, and the programs of workers. */
export function agentProcessesOf(dispatches: readonly Dispatch[]): Map<number, AgentProcess> {
  const found = new Map<number, AgentProcess>()
  for (const { workspace } of dispatches) {
    const { name, sessions, workers } = workspace
    for (const { agent, host } of hostedSessions(sessions.all())) found.set(host, { workspace: name, agent })
    for (const { pid, name: agent } of workers.reports.wishedWorkers())
      if (pid !== undefined) found.set(pid, { workspace: name, agent })
  }
  return found
}

/**
 * Whether the workspace can be closed without loss: no agent is connected, no call is under way, no worker or run is running, and nothing waits to be written.
 */
export function isWorkspaceUnused({ workspace, dispatch }: OpenWorkspace): boolean {
  // A shared workspace is always in use: other machines may add entries at any time.
  if (workspace.isShared) return false
  const { engine, sessions, store, workers } = workspace
  const isQuiet = engine.isIdle && dispatch.pending === 0 && sessions.all().every(({ agent }) => agent === daemonName)
  if (!isQuiet) return false
  try {
    const runs = store.view.runs.running().filter(({ harness }) => harness !== 'external')
    return workers.reports.wishedWorkers().length + runs.length + store.view.actions.running().length === 0
  } catch {
    // The table of runs or calls cannot be read: the workspace stays open, and the next client that needs the table gets the error.
    return false
  }
}

/** The reason why a workspace is no longer served, as a refusal's code. */
export type ClosingCode = 'workspace.removed' | 'workspace.closed'

/** Closes a workspace and tells its clients the reason. When this resolves, its files are closed. */
export async function shutDownWorkspace({ workspace, runner, wire }: OpenWorkspace, code: ClosingCode): Promise<void> {
  const why = new RefusalError(code, { workspace: workspace.name })
  workspace.waits.stopAll()
  for (const session of workspace.sessions.all()) workspace.sessions.end(session, why)
  await runner.close()
  await workspace.workers.close()
  await wire.close(why.refusal.code, why.refusal.details)
  await workspace.engine.reportBeforeClose?.()
  workspace.close(why)
}
