// Checkpoints a database (copies its write-ahead log into it) from a thread while much is written at once. In the main thread, the sync of a checkpoint would
// delay the next commit.

import { Worker } from 'node:worker_threads'
import { Database } from './database.ts'

/** Pause between two checkpoints, in ms. */
const restMs = 50

/** Starts the thread from the package's own `dist` (see snapshot.ts). The returned function ends the thread, and resolves when it has ended. */
export function checkpointInThread(path: string): () => Promise<void> {
  const thread = new Worker(new URL('../../dist/store/checkpoint-thread.js', import.meta.url), {
    workerData: path,
    execArgv: [],
  })
  const over = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  // If the thread fails, nothing is lost: SQLite then checkpoints in a commit, as it does without the thread.
  thread.once('error', () => {})
  thread.unref()
  return () => {
    thread.postMessage('end')
    return over
  }
}

/** Checkpoints the database repeatedly, until the returned function is called. */
export function checkpointUntilEnded(path: string): () => void {
  const database = new Database(path)
  const copyLog = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const timer = setInterval(() => copyLog.all(), restMs)
  return () => {
    clearInterval(timer)
    database.close()
  }
}
