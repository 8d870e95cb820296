// A worker as agent_status shows it: its program's states in a run's words, and its screen, also the last one, for those who may see it.

import type { Run, RunState, WorkerStatus } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/protocol'
import { carriesOutRun } from '../core/run-notice.ts'
import type { View } from '../core/view.ts'
import { maySeeTerminal } from '../core/workers.ts'
import type { Asking } from './call.ts'
import type { Workers } from './workers.ts'

const states: Record<WorkerStatus, RunState> = {
  wished: 'ready',
  starting: 'ready',
  ready: 'running',
  blocked: 'running',
  paused: 'running',
  exited: 'stopped',
}

/** Undefined where there was never one of this name. */
export async function workerAsRun(
  view: View,
  workers: Workers,
  { by, session }: Asking,
  name: string,
): Promise<Run | undefined> {
  const worker = view.workers.byName(name)
  if (!worker) return undefined
  const { parent, cli: harness, model, reason, at, changedAt } = worker
  const status = states[worker.status]
  const run: Run = { id: name, agent: name, parent, harness, model, status, startedAt: new Date(at).toISOString() }
  Object.assign(run, blockedOf(workers, name))
  if (status === 'stopped') Object.assign(run, { stoppedAt: new Date(changedAt).toISOString(), stopReason: reason })
  if (!maySeeTerminal(view, worker, by, session.isHolder)) return run
  const terminal = workers.terminalOf(name)
  const screen = terminal ? await terminal.screen().catch(() => undefined) : workers.lastScreenOf(worker)
  return screen === undefined ? run : { ...run, preview: previewOf(screen) }
}

/** A dialog in its terminal is answered by somebody, or never. */
export function blockedOf(workers: Workers, name: string): Pick<Run, 'blocked'> {
  const worker = workers.stateOf(name)
  return worker?.status === 'blocked' ? { blocked: worker.reason ?? 'it waits for somebody' } : {}
}

/** What stood last in the terminal of the worker that carried out a run, for those who see a run's output. */
export function lastScreenOfRun(view: View, workers: Workers, agent: string): string | undefined {
  const worker = view.workers.byName(agent)
  const screen = worker && carriesOutRun(view, worker) ? workers.lastScreenOf(worker) : undefined
  return screen === undefined ? undefined : previewOf(screen)
}

function previewOf(screen: string): string {
  return screen.trimEnd().slice(-limits.previewCharsMax)
}
