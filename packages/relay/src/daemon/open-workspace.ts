// A workspace that the daemon has open: its wire, and the parts that carry out its runs and workers. Also who uses it, and how it is closed in a daemon
// that goes on.

import { editsOf } from '@agent-relay/mcp/edits'
import { launched, launcherState } from '@agent-relay/mcp/launcher'
import { daemonName } from '@agent-relay/sdk/protocol'
import { WorkerEdits } from '../broker/claims/worker-edits.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import type { AgentProcess } from '../broker/sessions/person.ts'
import { hostedAmong } from '../broker/sessions/session.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import { ownerOf } from '../machine/config.ts'
import type { RunLimits } from '../runs/limits.ts'
import { type Dial, Runner } from '../runs/runner.ts'
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.ts'
import { openMcpSession } from '../wires/mcp-session.ts'
import type { SocketWire } from '../wires/socket.ts'
import { Commits } from '../work/commits.ts'
import type { Worktrees } from '../work/worktrees.ts'
import { offerDaemonActions } from './worker-actions.ts'

export interface OpenWorkspace {
  workspace: Workspace
  dispatch: Dispatch
  runner: Runner
  wire: SocketWire
  supervisor: Supervisor
}

type Own = 'ledger' | 'approvals' | 'edits' | 'worktrees' | 'project' | 'directory' | 'launchHook'

interface StartOptions extends Omit<SupervisorOptions, Own> {
  workersDirectory: string
  worktrees: Worktrees
  clock: Clock
  runLimits?: Partial<RunLimits>
}

/** Starts the supervisor for workers and the runner for runs: each gets the broker's contract that was made for it, and no more. */
export async function startSupervisorAndRunner(
  dispatch: Dispatch,
  { workersDirectory, runLimits: limits, clock, ...options }: StartOptions,
): Promise<Pick<OpenWorkspace, 'supervisor' | 'runner'>> {
  const { workspace } = dispatch
  const { workers, runs, approvals, name } = workspace
  const { dataDir, env, worktrees } = options
  const directory = () => ownerOf(dataDir, name)
  const ledger = workers.reports
  const edits = new WorkerEdits(workspace, options.socketPath, editsOf)
  const supervisor = await Supervisor.start({
    ...{ ...options, ledger, approvals, edits },
    ...{ project: directory, directory: workersDirectory, launchHook: () => launcherOfHooks(dataDir) },
  })
  workers.attach(supervisor, worktrees)
  workspace.claims.attach(new Commits(env))
  // In a shared workspace the caller of an action may be on another machine than the daemon that offers it.
  if (!workspace.otherMachines) await offerDaemonActions(workspace)
  const dial: Dial = async (run) => {
    const login = runs.reports.takeLogin(run)
    if (!login) return undefined
    const { token, asker } = login
    return openMcpSession(dispatch, { door: asker.door, asker }, { token })
  }
  const runner = new Runner({ ledger: runs.reports, dial, clock, env, dataDir, directory, limits })
  runs.attach(runner)
  return { supervisor, runner }
}

/** The shell script by which hooks wait for messages in a tenth of Node's memory; undefined if it starts another installation of Agent Relay. */
function launcherOfHooks(dataDir: string) {
  const env = { RELAY_DATA_DIR: dataDir }
  return launcherState(env) === 'current' ? launched(['hook'], env) : undefined
}

/** The names of the workers that should run. */
export function workersOf({ workers }: Workspace): string[] {
  return workers.reports.wished().map(({ name }) => name)
}

/** The agents that would lose something if the workspace were closed now: those that are connected, and workers that should run. */
export function usersOf({ workspace }: OpenWorkspace): string[] {
  const connected = workspace.sessions.all().flatMap(({ agent }) => (agent === undefined ? [] : [agent]))
  return [...new Set([...connected, ...workersOf(workspace)])].filter((name) => name !== daemonName).sort()
}

/** Processes of agents by process id: the hosts that have started our MCP server for an agent, and the programs of workers. */
export function agentProcessesOf(dispatches: readonly Dispatch[]): Map<number, AgentProcess> {
  const found = new Map<number, AgentProcess>()
  for (const { workspace } of dispatches) {
    const { name, sessions, workers } = workspace
    for (const { agent, host } of hostedAmong(sessions.all())) found.set(host, { workspace: name, agent })
    for (const { pid, name: agent } of workers.reports.wished())
      if (pid !== undefined) found.set(pid, { workspace: name, agent })
  }
  return found
}

/** Whether the workspace can be closed without loss: nobody is connected, no call is under way, nothing runs and nothing waits to be written. */
export function isUnused({ workspace, dispatch }: OpenWorkspace): boolean {
  // Other machines may have something for a shared workspace at any time.
  if (workspace.otherMachines) return false
  const { engine, sessions, store, workers } = workspace
  const isQuiet = engine.isIdle && dispatch.pending === 0 && sessions.all().every(({ agent }) => agent === daemonName)
  if (!isQuiet) return false
  try {
    const runs = store.view.runs.running().filter(({ harness }) => harness !== 'external')
    return workers.reports.wished().length + runs.length + store.view.runningInvocations().length === 0
  } catch {
    // The work under way cannot be read: the workspace stays open, and its next user is told why.
    return false
  }
}

/** Why a workspace is no longer served. */
export type LeavingCode = 'workspace.removed' | 'workspace.closed'

/** Closes a workspace and tells everybody why. When this resolves, its files are closed and nothing writes to them any more. */
export async function takeDown(
  { workspace, runner, supervisor, wire }: OpenWorkspace,
  code: LeavingCode,
): Promise<void> {
  const why = new RefusalError(code, { workspace: workspace.name })
  workspace.waits.stopAll()
  for (const session of workspace.sessions.all()) workspace.sessions.end(session, why)
  await runner.close()
  await supervisor.close()
  await wire.close(why.refusal.code, why.refusal.details)
  await workspace.engine.leave?.()
  workspace.close(why)
}
