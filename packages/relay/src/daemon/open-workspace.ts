// A workspace that the daemon has open: who uses it, and how it is closed in a daemon that goes on. build-workspace.ts makes it.

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

/** What is remembered of a workspace at rest. */
export interface LastGlance {
  /** The number of its last entry. */
  seq: number
  /** How many things waited for the person. */
  needs: number
  /** How long its policy keeps what is over; unset: for ever. */
  keepMs?: number
}

/** Returns the names of the workers that should run, and of the agents of the built-in loop: their work ends with the daemon. */
export function workerNamesOf({ workers, store }: Workspace): string[] {
  return [...new Set([...workers.reports.wishedWorkers().map(({ name }) => name), ...loopAgentsOf(store)])]
}

function loopAgentsOf(store: Workspace['store']): string[] {
  try {
    return store.view.runs.running().flatMap(({ harness, agent }) => (harness === 'loop' ? agent : []))
  } catch {
    // The table of runs cannot be read: the workspace is listed all the same.
    return []
  }
}

/** Returns the agents that would lose something if the workspace were closed: connected agents, and workers that should run. */
export function userNamesOf({ workspace }: OpenWorkspace): string[] {
  const connected = workspace.sessions.all().flatMap(({ agent }) => (agent === undefined ? [] : [agent]))
  return [...new Set([...connected, ...workerNamesOf(workspace)])].filter((name) => name !== daemonName).sort()
}

/** Processes of agents by process id: the hosts that have started our MCP server for an agent, and the programs of workers. */
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

/** Whether the workspace can be closed without loss: nobody is connected, no call is under way, nothing runs and nothing waits to be written. */
export function isWorkspaceUnused({ workspace, dispatch }: OpenWorkspace): boolean {
  // Other machines may have something for a shared workspace at any time.
  if (workspace.isShared) return false
  const { engine, sessions, store, workers } = workspace
  const isQuiet = engine.isIdle && dispatch.pending === 0 && sessions.all().every(({ agent }) => agent === daemonName)
  if (!isQuiet) return false
  try {
    const runs = store.view.runs.running().filter(({ harness }) => harness !== 'external')
    return workers.reports.wishedWorkers().length + runs.length + store.view.actions.running().length === 0
  } catch {
    // The tables of runs and calls cannot be read: the workspace stays open, and its next user is told why.
    return false
  }
}

/** Why a workspace is no longer served. */
export type ClosingCode = 'workspace.removed' | 'workspace.closed'

/** Closes a workspace and tells everybody why. When this resolves, its files are closed and nothing writes to them any more. */
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
