// The thread that copies the log of a database into it, again and again until it is told to end: see checkpointing.ts.

import { parentPort, workerData } from 'node:worker_threads'
import { Database } from './database.ts'

/** Pause between two checkpoints, in ms. */
const restMs = 50

const database = new Database(workerData as string)
const copyLog = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
const timer = setInterval(() => copyLog.all(), restMs)
parentPort?.once('message', () => {
  clearInterval(timer)
  database.close()
  parentPort?.close()
})
