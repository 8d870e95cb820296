// The task of an agent, as lists show it: the contract of the agent's run, else the task that it was hired for; its first line or the whole text.

import { firstLine } from './first-line.ts'
import { carriesOutRun } from './run-notice.ts'
import { type Reader, sees } from './sight.ts'
import type { View, WorkerRow } from './view.ts'

/** Returns the task of an agent. Undefined if the agent has none, or the reader may not see it. */
export function taskOf(view: View, reader: Reader, name: string, whole: boolean): string | undefined {
  const run = view.runs.currentRunOf(name)
  if (run) return sees(view, reader, 'run', run) ? contractOf(view, run.id, whole) : undefined
  const worker = view.workers.byName(name)
  if (!worker || worker.status === 'exited' || !sees(view, reader, 'worker', worker)) return undefined
  return taskOfWorker(view, worker, whole)
}

/** Returns the task of a worker. For the worker of a run that is the run's contract: the worker's own task also has instructions that no list should show. */
export function taskOfWorker(view: View, worker: WorkerRow, whole: boolean): string | undefined {
  const run = carriesOutRun(view, worker) ? view.runs.byAgent(worker.name) : undefined
  if (run) return contractOf(view, run.id, whole)
  if (whole) return view.workers.taskOf(worker.id)
  const head = view.workers.taskHead(worker.id)
  return head === undefined ? undefined : firstLine(head)
}

function contractOf(view: View, run: string, whole: boolean): string {
  return whole ? view.runs.contract(run) : firstLine(view.runs.contractHead(run))
}
