// Starting work again: decides whether the caller may repeat a worker's task or a run's contract, and returns what the first start recorded. The rule for
// any start then decides about the new one.

import { nearestNames } from './nearest.ts'
import { carriesOutRun } from './run-notice.ts'
import { isInCharge, type Reader, sees, seesAllRuns } from './sight.ts'
import { type Refused, refuse } from './verdict.ts'
import type { RunRow, View, WorkerRow } from './view.ts'
import { refuseNotYours } from './workers.ts'
import { backupMachine } from './world.ts'

/** How many former workers are searched for names similar to an unknown one. */
const formerMax = 200

export interface FormerWorker {
  worker: WorkerRow & Required<Pick<WorkerRow, 'asked'>>
  task: string
}

/**
 * Finds the worker whose task is to be given again. Does not check whether that worker still runs: the start does, so that a repeated call gets the first
 * answer.
 */
export function findFormerWorker(
  view: View,
  reader: Reader,
  { name, machine }: { name: string; machine?: string },
): FormerWorker | Refused {
  const worker = view.workers.byName(name)
  if (!worker) return noSuchWorker(view, reader, name)
  if (!isInCharge(view, reader, worker)) return refuseNotYours(view, reader, worker, 'give it its task again')
  if (ranElsewhere(worker, machine)) return refuse('worker.elsewhere', { name, machine: worker.machine })
  if (carriesOutRun(view, worker)) return refuse('worker.of-run', { name, run: view.runs.byAgent(name)?.id })
  const task = view.workers.taskOf(worker.id)
  const { asked } = worker
  if (task === undefined) return refuse('worker.no-task', { name, why: 'it was given none' })
  if (!asked) return refuse('worker.no-task', { name, why: 'an earlier version hired it, and did not note how' })
  return { worker: { ...worker, asked }, task }
}

/** The refusal of an unknown worker. Suggestions include workers that have exited, since the caller means one of them. */
function noSuchWorker(view: View, reader: Reader, name: string): Refused {
  const seen = view.workers.latest(formerMax).filter((worker) => sees(view, reader, 'worker', worker))
  const names = [...new Set(seen.map((worker) => worker.name))]
  return refuse('worker.unknown', { name, nearest: nearestNames(name, names) })
}

/** Finds the run whose contract is to be given again, by its id or by the name of the agent that was made for it. */
export function findFormerRun(
  view: View,
  reader: Reader,
  { run: id, machine }: { run: string; machine?: string },
): { run: RunRow; contract: string } | Refused {
  const run = view.runs.byId(id) ?? view.runs.byAgent(id)
  if (!run || !sees(view, reader, 'run', run)) return refuse('run.unknown', { run: id })
  const { agent, parent, status } = run
  // Only the run's parent, and readers who see all runs, may repeat it: the contract is given again in the name of that parent.
  if (parent !== reader.agent && !seesAllRuns(view, reader))
    return refuse('run.not-yours', { run: run.id, agent, parent })
  // A run by a connected agent (external) may be repeated on any machine: the agent gets its contract on whichever machine it is.
  if (run.harness !== 'external' && ranElsewhere(run, machine))
    return refuse('run.elsewhere', { run: run.id, machine: run.machine })
  if (status === 'ready' || status === 'running') return refuse('run.running', { run: run.id })
  return { run, contract: view.runs.contract(run.id) }
}

/**
 * Whether a worker or run was on another machine. One that began before its workspace was shared, or after the workspace was taken back, names no machine. One
 * from a backup never counts as this machine's: its text could be anybody's.
 */
function ranElsewhere(former: { machine?: string }, machine: string | undefined): boolean {
  if (former.machine === backupMachine) return true
  return former.machine !== undefined && machine !== undefined && former.machine !== machine
}
