// A worker as agent_status shows it: its program's states in a run's words, and its screen for those who may see it.

import type { Run, RunState, WorkerStatus } from '@agent-relay/sdk/protocol'
import { limits } from '@agent-relay/sdk/protocol'
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
  if (status === 'stopped') Object.assign(run, { stoppedAt: new Date(changedAt).toISOString(), stopReason: reason })
  if (status === 'stopped' || !maySeeTerminal(view, worker, by, session.isHolder)) return run
  const screen = await workers
    .terminalOf(name)
    ?.screen()
    .catch(() => undefined)
  return screen === undefined ? run : { ...run, preview: screen.trimEnd().slice(-limits.previewCharsMax) }
}
