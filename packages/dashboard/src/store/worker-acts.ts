// What the person can do with an agent and its program, by their state: the same list for its own view, its row and the palette.

import { type Agent, RelayError } from '@agent-relay/sdk/internal/page'
import { client } from './connection.ts'
import { hintFleet, type ListedWorker } from './fleet.ts'
import { retryRun } from './runs.ts'

export interface WorkerAct {
  name: string
  op: 'worker.pause' | 'worker.resume' | 'worker.release' | 'worker.retry' | 'agent.retire'
  /** It cannot be undone: ask once more. */
  isFinal: boolean
}

const pause: WorkerAct = { name: 'Pause', op: 'worker.pause', isFinal: false }
const resume: WorkerAct = { name: 'Resume', op: 'worker.resume', isFinal: false }
const release: WorkerAct = { name: 'Release', op: 'worker.release', isFinal: true }
/** Its task again, as it was given. */
const retry: WorkerAct = { name: 'Retry', op: 'worker.retry', isFinal: false }
/** It is in no list any more; what it said stays. */
const archive: WorkerAct = { name: 'Archive', op: 'agent.retire', isFinal: true }

export function actsOn({ status }: Pick<Agent, 'status'>, worker: ListedWorker | undefined): WorkerAct[] {
  if (worker && worker.status !== 'exited') return [worker.status === 'paused' ? resume : pause, release]
  return status === 'offline' ? [...(worker?.task === undefined ? [] : [retry]), archive] : []
}

export async function perform({ op }: WorkerAct, name: string): Promise<void> {
  try {
    await client.call(op, { name })
  } catch (error) {
    // It carried out a run: that is what is done again.
    if (!(error instanceof RelayError) || error.code !== 'worker.of-run') throw error
    await retryRun(name)
  }
  hintFleet()
}
