// The thread in which a database is copied, so that the daemon goes on meanwhile: see snapshot.ts.

import { parentPort, workerData } from 'node:worker_threads'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { toRefusal } from '../core/refusal-error.ts'
import { copyDatabase } from './snapshot.ts'

function copied({ from, to }: { from: string; to: string }): Refusal | undefined {
  try {
    copyDatabase(from, to)
    return undefined
  } catch (error) {
    return toRefusal(error)
  }
}

parentPort?.postMessage(copied(workerData))
