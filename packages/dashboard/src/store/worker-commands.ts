// What a person can do with an agent and its program, depending on their state. The agent's own view, its row and the palette offer the same list.

import { type Agent, RelayError } from '@agent-relay/sdk/internal/page'
import { client } from './connection.ts'
import { type ListedWorker, refreshFleet } from './fleet.ts'
import type { ShownNeed } from './needs.ts'
import { retryRun } from './runs.ts'
import type { Workplace } from './workplace.ts'

export interface WorkerCommand {
  name: string
  op: 'worker.interrupt' | 'worker.pause' | 'worker.resume' | 'worker.release' | 'worker.retry' | 'agent.retire'
  /** Whether the command cannot be undone; the page then asks once more. */
  isFinal: boolean
}

/** Stops the turn that a worker is in; its program stays. */
const interrupt: WorkerCommand = { name: 'Interrupt', op: 'worker.interrupt', isFinal: false }
const pause: WorkerCommand = { name: 'Pause', op: 'worker.pause', isFinal: false }
const resume: WorkerCommand = { name: 'Resume', op: 'worker.resume', isFinal: false }
const release: WorkerCommand = { name: 'Release', op: 'worker.release', isFinal: true }
/** Starts an ended worker again with the same task. */
const retry: WorkerCommand = { name: 'Retry', op: 'worker.retry', isFinal: false }
/** Removes the agent from every list; its messages stay. */
const archive: WorkerCommand = { name: 'Archive', op: 'agent.retire', isFinal: true }

export function workerCommands({ status }: Pick<Agent, 'status'>, worker: ListedWorker | undefined): WorkerCommand[] {
  if (worker && worker.status !== 'exited') {
    const isInTurn = worker.status === 'busy' || worker.status === 'blocked'
    return [...(isInTurn ? [interrupt] : []), worker.status === 'paused' ? resume : pause, release]
  }
  return status === 'offline' ? [...(worker?.task === undefined ? [] : [retry]), archive] : []
}

type ActingPlace = Pick<Workplace, 'client' | 'path' | 'hint'>

const here: ActingPlace = { client, path: '', hint: refreshFleet }

export async function runWorkerCommand(
  { op }: WorkerCommand,
  name: string,
  { client, path, hint }: ActingPlace = here,
): Promise<void> {
  try {
    const answer = await client.call(op, { name })
    // An interrupt that has not ended the turn yet is shown as one that failed.
    if (op === 'worker.interrupt' && 'note' in answer && answer.note !== undefined) throw new Error(answer.note)
  } catch (error) {
    // The worker was started for a run, so the run is started again instead.
    if (!(error instanceof RelayError) || error.code !== 'worker.of-run') throw error
    await retryRun(name, { client, path })
  }
  hint()
}

/** Gives the work of a failed worker or run again. `goesOn`: whether a worker's program goes on with its conversation, instead of beginning a new one. */
export async function repeatFailedWork(
  { who, run }: ShownNeed,
  goesOn: boolean,
  { client, hint }: ActingPlace,
): Promise<void> {
  if (run === undefined) await client.call('worker.retry', { name: who, continue: goesOn })
  else await client.call('run.start', { again: run })
  hint()
}
