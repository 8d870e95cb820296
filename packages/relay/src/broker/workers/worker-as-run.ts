// Converts a worker to the form in which `agent_status` shows runs: its status in the words for runs, and its present or last screen for readers who may see
// it.

import { limits, type Run, type RunState, type WorkerStatus } from '@agent-relay/sdk/protocol'
import { carriesOutRun } from '../../core/run-notice.ts'
import { type Reader, sees } from '../../core/sight.ts'
import type { View } from '../../core/view.ts'
import type { WholeTextBudget } from '../whole-text-budget.ts'
import type { Workers } from './workers.ts'

const runStates: Record<WorkerStatus, RunState> = {
  wished: 'ready',
  starting: 'ready',
  ready: 'running',
  blocked: 'running',
  paused: 'running',
  exited: 'stopped',
}

/** Describes a worker as a run; undefined if there was never a worker of this name, or the reader may not see it. */
export async function workerAsRun(
  view: View,
  workers: Workers,
  reader: Reader,
  { name, texts }: { name: string; texts: WholeTextBudget },
): Promise<Run | undefined> {
  const worker = view.workers.byName(name)
  const isShown = worker && (sees(view, reader, 'worker', worker) || sees(view, reader, 'terminal', worker))
  if (!isShown) return undefined
  const { parent, cli: harness, model, reason, at, changedAt, again } = worker
  const status = runStates[worker.status]
  const startedAt = new Date(at).toISOString()
  const run: Run = { id: name, agent: name, parent, harness, model, status, startedAt, again }
  if (texts.hasRoom && sees(view, reader, 'worker', worker)) run.contract = texts.add(view.workers.taskOf(worker.id))
  Object.assign(run, blockedNote(workers, name))
  if (status === 'stopped') Object.assign(run, { stoppedAt: new Date(changedAt).toISOString(), stopReason: reason })
  if (!sees(view, reader, 'terminal', worker)) return run
  const terminal = workers.terminalOf(name)
  const screen = terminal ? await terminal.screen().catch(() => undefined) : workers.lastScreenOf(worker)
  return screen === undefined ? run : { ...run, preview: previewOf(screen) }
}

/** Returns a note if a dialog is open in the worker's terminal, since somebody must answer it. */
export function blockedNote(workers: Workers, name: string): Pick<Run, 'blocked'> {
  const worker = workers.stateOf(name)
  return worker?.status === 'blocked' ? { blocked: worker.reason ?? 'it waits for somebody' } : {}
}

/** Returns the last screen of the worker that carried out a run. Does not check whether the reader may see it. */
export function lastScreenOfRun(view: View, workers: Workers, agent: string): string | undefined {
  const worker = view.workers.byName(agent)
  const screen = worker && carriesOutRun(view, worker) ? workers.lastScreenOf(worker) : undefined
  return screen === undefined ? undefined : previewOf(screen)
}

function previewOf(screen: string): string {
  return screen.trimEnd().slice(-limits.previewCharsMax)
}
