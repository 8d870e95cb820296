// Lists workers and runs that failed or ended without anybody asking for it, for the list of things that need a person. Each stays listed until its work is
// started again or a person dismisses it.

import type { Need } from '@agent-relay/sdk/protocol'
import { firstLine } from '../../core/first-line.ts'
import { hasRunFailed, needKeys, workerFailureReason } from '../../core/needs.ts'
import { findFormerRun, findFormerWorker } from '../../core/repeat-work.ts'
import { carriesOutRun } from '../../core/run-notice.ts'
import { type Reader, sees } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import { taskOfWorker } from '../../core/tasks.ts'
import type { RunRow, WorkerRow } from '../../core/view.ts'
import type { WorkspaceCore } from '../call.ts'

/** Number of the newest workers, and of the newest runs, among which failed ones are looked for. */
const failedAmongMax = 200

type FailedNeed = Omit<Need, 'message'>
export type FailedNeedsWorkspace = WorkspaceCore & {
  workers: { whyNotContinue(worker: WorkerRow): string | undefined }
}

/** The person who asks, with the rights of the person's session. */
export interface Asker {
  session: Reader
  by: string
}

export function* failedNeeds(workspace: FailedNeedsWorkspace, { session, by }: Asker): Steps<FailedNeed[]> {
  const { store, clock } = workspace
  const { view } = store
  const runs = yield* view.runs.list(undefined, undefined, failedAmongMax)
  const repeated = new Set(runs.map(({ again }) => again))
  const isFailedRun = (run: RunRow) => hasRunFailed(run, clock.now())
  const failedRuns = runs.filter((run) => isFailedRun(run) && !repeated.has(run.id) && sees(view, session, 'run', run))
  const failedWorkers = view.workers.latest(failedAmongMax).filter((row) => {
    const isLast = view.workers.byName(row.name)?.id === row.id
    if (!isLast || workerFailureReason(view, row, clock.now()) === undefined || !sees(view, session, 'worker', row))
      return false
    // Leaves out the worker of a failed run, since the run is listed itself, and the worker of a run that was started again.
    const run = runOf(workspace, row)
    return run === undefined || !(isFailedRun(run) || repeated.has(run.id))
  })
  const done = store.needs.dismissed(by)
  return [
    ...failedWorkers.map((row) => needOfWorker(workspace, session, row)),
    ...failedRuns.map((run) => needOfRun(workspace, session, run)),
  ].filter(({ key }) => !done.has(key))
}

function needOfWorker(workspace: FailedNeedsWorkspace, session: Reader, row: WorkerRow): FailedNeed {
  const { store, sessions, workers, clock } = workspace
  const { id, name, changedAt } = row
  const text = workerFailureReason(store.view, row, clock.now()) ?? ''
  const need = {
    key: needKeys.failed(id),
    kind: 'failed',
    who: name,
    text,
    since: timeOf(changedAt),
    worker: id,
    task: taskOfWorker(store.view, row, false),
  } as const
  const run = runOf(workspace, row)
  if (run) return { ...need, run: run.id, ...retryOf(workspace, session, run) }
  if ('refusal' in findFormerWorker(store.view, session, { name, machine: sessions.machine })) return need
  const noContinue = workers.whyNotContinue(row)
  return { ...need, canRetry: true, ...(noContinue === undefined ? { canContinue: true } : { noContinue }) }
}

function needOfRun(workspace: FailedNeedsWorkspace, session: Reader, run: RunRow): FailedNeed {
  const { id, agent, reason = '', endedAt = run.startedAt } = run
  const { view } = workspace.store
  const worker = view.workers.byName(agent)
  const need = {
    key: needKeys.failed(id),
    kind: 'failed',
    who: agent,
    text: reason,
    since: timeOf(endedAt),
    run: id,
    task: firstLine(view.runs.contractHead(id)),
  } as const
  return { ...need, ...(worker ? { worker: worker.id } : {}), ...retryOf(workspace, session, run) }
}

/** Returns the run that a worker carried out. */
function runOf({ store: { view } }: FailedNeedsWorkspace, row: WorkerRow): RunRow | undefined {
  return carriesOutRun(view, row) ? view.runs.byAgent(row.name) : undefined
}

function retryOf({ store, sessions }: FailedNeedsWorkspace, session: Reader, { id }: RunRow) {
  const former = findFormerRun(store.view, session, { run: id, machine: sessions.machine })
  return 'refusal' in former ? {} : ({ canRetry: true } as const)
}

function timeOf(at: number): string {
  return new Date(at).toISOString()
}
