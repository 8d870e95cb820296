// The thread that checkpoints a database, which copies its write-ahead log into it: see checkpointing.ts.

import { parentPort, workerData } from 'node:worker_threads'
import { checkpointUntilEnded } from './checkpointing.ts'

const end = checkpointUntilEnded(workerData as string)
parentPort?.once('message', () => {
  end()
  parentPort?.close()
})
